/*
 * Places a frame can stand at. Each unique one gets a small id during the pass and is named once,
 * after it: by then the perf map of a process and the bytes of a binary are as complete as they
 * get.
 */
#ifndef NSPROF_LOCATION_H
#define NSPROF_LOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module;

enum location_kind {
	LOC_TEXT,	/* a fixed frame; owner = string id */
	LOC_FILE,	/* owner = module id, addr = byte offset in the file */
	LOC_NOELF,	/* file without usable bytes; owner = image index, addr = runtime address */
	LOC_ANON,	/* memory without a file; owner = image index, addr = runtime address */
	LOC_JIT,	/* code told of in a jitdump; owner = id of "name\n" or "name\nfile:line", addr = runtime address */
	LOC_NOMAP,	/* in no known mapping; owner = image index, addr = runtime address */
	LOC_KERNEL,	/* addr = kernel address */
	LOC_PROCESS,	/* the name of a process, which is known at the end only; owner = image index */
	LOC_KSYM,	/* owner = index of the ksymbol that covers it, addr = kernel address */
};

/* Addresses are those to look up: 1 below a return address. */
struct location {
	uint8_t kind;		/* enum location_kind */
	bool joined;		/* frame.joined: named like others, but marked */
	uint32_t owner;
	uint64_t addr;
	uint32_t part;		/* of the recording in which it was met first; not of the identity */
	/* Of the identity where the owner is an image, in which one thing can lie where another one lay: */
	struct module *mod;	/* LOC_FILE, LOC_NOELF; borrowed */
	uint64_t off;		/* LOC_FILE, LOC_NOELF: byte offset in the file */
	const char *path;	/* LOC_ANON: the mapping's path, borrowed from the replay */
};

struct locations {
	struct location *locs;	/* owned */
	size_t n;
	size_t cap;
	uint32_t *slots;	/* open addressing, 0 = free, else id + 1 */
	size_t nslots;		/* power of two */
};

void locations_init(struct locations *ls);
void locations_fini(struct locations *ls);
/* Id of the location equal to @loc, added when new. */
uint32_t locations_id(struct locations *ls, const struct location *loc);
/*
 * For LOC_ANON: "//anon" and "[anon:...]" are JIT code as a rule; "[heap]", "[stack]" and the like say
 * what they are themselves.
 */
bool location_may_be_jit(const struct location *loc);

#endif
