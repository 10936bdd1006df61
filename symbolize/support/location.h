/*
 * The code locations of frames. Each unique location gets a small id during the pass and is named
 * once, after the pass: only then are perf maps and the bytes of binaries as complete as they will
 * be.
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
	/* code in a jitdump; owner = id of "name\n" or "name\nfile:line", addr = runtime address */
	LOC_JIT,
	LOC_NOMAP,	/* in no known mapping; owner = image index, addr = runtime address */
	LOC_KERNEL,	/* addr = kernel address */
	LOC_PROCESS,	/* a process's name, which is known only at the end; owner = image index */
	LOC_KSYM,	/* owner = index of the ksymbol that covers it, addr = kernel address */
};

/* addr is the address to look up: for a return address, one byte below it. */
struct location {
	uint8_t kind;		/* enum location_kind */
	bool joined;		/* frame.joined: named as usual, but marked */
	uint32_t owner;
	uint64_t addr;
	uint32_t part;		/* of the recording, where first seen; not part of the identity */
	uint32_t image;		/* LOC_JIT: image index, where first seen; not part of the identity */
	/* Part of the identity if the owner is an image, where mappings can replace each other: */
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
/* Returns the id of the location equal to @loc, which is added if new. */
uint32_t locations_id(struct locations *ls, const struct location *loc);
/*
 * Is it likely JIT code? For LOC_ANON: "//anon" and "[anon:...]" usually are; names like "[heap]"
 * and "[stack]" speak for themselves.
 */
bool location_may_be_jit(const struct location *loc);

#endif
