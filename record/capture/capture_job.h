/*
 * One capture, prepared so that it can run on any thread: it owns its files and addresses and
 * touches nothing else. Slicing a large binary takes most of a second (98 MB of node: 0.75 s,
 * /proc/kallsyms 0.2 to 1 s), three times what the rings hold; while recording goes on, captures
 * have to run beside the drain.
 */
#ifndef NSPROF_CAPTURE_JOB_H
#define NSPROF_CAPTURE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "capture/leaf_counts.h"
#include "event.h"

struct slice;

#define CAPTURE_FORKS_MAX 8	/* a process and the ancestors whose perf maps and jitdumps are asked */
#define CAPTURE_DUMPS_MAX 8	/* jitdumps of all of them */

struct capture_job {
	enum capture_kind kind;
	uint32_t id;			/* as in struct capture */
	char *name;			/* owned; for messages: a path, a comm */
	uint64_t *addrs;		/* owned, sorted; file offsets (ELF) or runtime addresses */
	size_t n;
	/* CAPTURE_ELF: one of both. */
	int fd, rootfd;			/* owned; -1 = none */
	/* CAPTURE_JITDUMP: the process's own first, of these the latest. */
	struct {
		int fd;			/* owned */
		int64_t shift;		/* of jitdump_slice() */
	} dump[CAPTURE_DUMPS_MAX];
	size_t ndumps;
	char *path;			/* owned; where the binary lies below the root; NULL = unknown */
	struct slice *keep;		/* where to keep the rows, touched by finishing only; NULL = nowhere */
	bool served;			/* rows are there already */
	const void *image;		/* borrowed for good: our own vdso */
	size_t image_size;		/* bytes */
	struct leaf_counts leafs;		/* what its code is wanted for as well; none: it is not */
	uint64_t code_max;		/* bytes of code */
	struct code_budget *budget;	/* borrowed, touched by finishing only; NULL = none */
	/* CAPTURE_PERF_MAP: the most distant ancestor first. */
	struct {
		int pinned, named;	/* owned; -1 = none */
	} map[CAPTURE_FORKS_MAX];
	size_t nmaps;
	bool shared;			/* others write to them: PERFMAP_SHARED */
	/* What came out. */
	int err;			/* 0, or negative errno: set before, there is nothing to run */
	const char *why;		/* static text that says more than @err; NULL = none */
	struct strbuf rows;
	struct strbuf spans;		/* struct span, when they are to be kept */
	struct strbuf code;		/* for CAPTURE_CODE */
	uint64_t code_bytes;		/* of code in it */
};

/* An empty job: takes @addrs, copies @name. */
void capture_job_init(struct capture_job *job, enum capture_kind kind, uint32_t id,
		      const char *name, uint64_t *addrs, size_t n);
void capture_job_run(struct capture_job *job);
void capture_job_fini(struct capture_job *job);

#endif
