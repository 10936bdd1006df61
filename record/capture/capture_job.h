/*
 * One capture, prepared to run on any thread: it owns its files and addresses and touches nothing
 * else. Slicing a large binary takes most of a second (98 MB of node: 0.75 s; /proc/kallsyms 0.2 to
 * 1 s), which is three times what the rings can buffer. So during recording, captures must run
 * beside the drain.
 */
#ifndef NSPROF_CAPTURE_JOB_H
#define NSPROF_CAPTURE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "capture/leaf_counts.h"
#include "event.h"
#include "procfs/file_writer.h"

struct slice;

/* maximum number of processes, including ancestors, whose perf maps and jitdumps are read */
#define CAPTURE_FORKS_MAX 8
#define CAPTURE_DUMPS_MAX 8	/* maximum number of jitdumps of all of them */

/* A file of a process that is read. */
struct capture_file {
	int fd;		/* owned; -1 = none */
	int copy;	/* owned; of the file, if its file system may not answer; -1 = none */
};

struct capture_job {
	enum capture_kind kind;
	uint32_t id;			/* as in struct capture */
	char *name;			/* owned; for messages: a path or comm */
	uint64_t *addrs;		/* owned, sorted; file offsets (ELF) or runtime addresses */
	size_t n;
	/* CAPTURE_ELF: either of them. */
	int fd, rootfd;			/* owned; -1 = none */
	/* CAPTURE_JITDUMP: the process's own come first, latest first. */
	struct {
		struct capture_file file;
		struct file_writer writer;
		int64_t shift;		/* for jitdump_slice() */
	} dump[CAPTURE_DUMPS_MAX];
	size_t ndumps;
	char *path;	/* owned; path of the binary below the root; NULL = unknown */
	/* where to keep the rows, used only when finishing; NULL = nowhere */
	struct slice *keep;
	bool served;			/* the rows already exist */
	const void *image;		/* borrowed forever: our own vdso */
	size_t image_size;		/* bytes */
	/* Whose files they are, for opener_for(). tenant 0 = unknown, or no files. */
	uint64_t tenant;
	uint32_t pid;
	char *cgroup;			/* owned; NULL = unknown */
	struct tenant *payer;		/* borrowed, used only when finishing; NULL = nobody */
	struct leaf_counts leafs;	/* samples for which to capture code; empty: no code */
	uint64_t code_max;		/* maximum bytes of code */
	struct code_budget *budget;	/* borrowed, used only when finishing; NULL = none */
	/* CAPTURE_PERF_MAP: the most distant ancestor first. */
	struct {
		struct capture_file pinned, named;
		struct file_writer writer;
	} map[CAPTURE_FORKS_MAX];
	size_t nmaps;
	bool shared;			/* others can write to them: PERFMAP_SHARED */
	/* Results. */
	int err;	/* 0, or negative errno; if set beforehand, there is nothing to run */
	const char *why;		/* static text with more detail than @err; NULL = none */
	struct strbuf rows;
	struct strbuf spans;		/* struct span, if they are to be kept */
	struct strbuf code;		/* for CAPTURE_CODE */
	uint64_t code_bytes;		/* bytes of code in @code */
	uint64_t ns;			/* CPU time that it took */
	bool short_of_room;		/* the binary's tables are too large to be read: elf_files_room() */
};

/* Initializes an empty job; takes @addrs, copies @name. */
void capture_job_init(struct capture_job *job, enum capture_kind kind, uint32_t id,
		      const char *name, uint64_t *addrs, size_t n);
/* @fd is taken; a negative one is no file. */
struct capture_file capture_file(int fd);
void capture_job_run(struct capture_job *job);
/*
 * Appends the captured perf map that says why the process's map or jitdump was not used although
 * there is one (PERFMAP_REFUSED). False: there is none, or it was used.
 */
bool capture_job_refused(const struct capture_job *job, struct strbuf *out);
void capture_job_fini(struct capture_job *job);

#endif
