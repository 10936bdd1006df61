/*
 * Writes the perf.data file format (PERFILE2); it does not interpret the contents.
 * Sources: tools/perf/Documentation/perf.data-file-format.txt, tools/perf/util/header.c,
 * tools/lib/perf/include/perf/event.h, the comment at enum perf_event_type in
 * include/uapi/linux/perf_event.h. Records are written as they come; only the sections behind them
 * are kept in memory. Write errors are reported at the end.
 */
#ifndef NSPROF_PERF_FILE_H
#define NSPROF_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event.h"

struct perf_file;

struct perf_file_event {
	const char *name;	/* "cpu-clock:u"; borrowed */
	uint32_t type;		/* PERF_TYPE_* */
	uint64_t config;	/* PERF_COUNT_* */
	uint64_t config1, config2;
	uint64_t period;	/* in the event's unit; with @freq: Hz */
	bool freq;
	bool exclude_user, exclude_kernel;
	bool no_chain;		/* its samples have one address */
	uint16_t max_stack;	/* frames of a chain that were asked for; 0: as many as there are */
	const char *fields;	/* of a tracepoint whose samples have a payload; else NULL; borrowed */
};

/* The origin of a record, which sample_id_all appends to it. */
struct perf_file_id {
	uint32_t pid, tid, cpu;
	uint64_t time;		/* ns */
};

/*
 * Starts at the stream's position, which must be 0 of a seekable file. @evs: the @n events, at least
 * one, borrowed. @monotonic: times are CLOCK_MONOTONIC's; otherwise of perf's own clock. Never fails.
 */
struct perf_file *perf_file_new(FILE *to, const struct perf_file_event *evs, uint32_t n, bool monotonic);
void perf_file_free(struct perf_file *pf);	/* accepts NULL */

/* ---- records; texts are cut to PERF_FILE_TEXT bytes ---- */

#define PERF_FILE_TEXT 4096

void perf_file_comm(struct perf_file *pf, const struct perf_file_id *id, bool exec, const char *comm);
/* @known: the process ran before the recording; then it inherits nothing. */
void perf_file_fork(struct perf_file *pf, const struct perf_file_id *id, uint32_t ppid, uint32_t ptid, bool known);
void perf_file_exit(struct perf_file *pf, const struct perf_file_id *id, uint32_t ppid, uint32_t ptid);
/*
 * A mapping of @dso (NULL: no file) under @name; start, len, pgoff, prot and flags are those of
 * @ev.
 */
void perf_file_mmap(struct perf_file *pf, const struct perf_file_id *id, const struct ev_mmap *ev, const struct ev_dso *dso,
		    const char *name);
/*
 * Kernel code at [start, start + len): "[kernel.kallsyms]SYMBOL" with that symbol's address in
 * @pgoff, or "[module]".
 */
void perf_file_kernel(struct perf_file *pf, uint64_t start, uint64_t len, uint64_t pgoff, const char *name);
/* A BPF program. */
void perf_file_ksymbol(struct perf_file *pf, const struct perf_file_id *id, const struct ev_ksymbol *ev);
void perf_file_lost(struct perf_file *pf, const struct perf_file_id *id, uint64_t lost);

/* Maximum number of frames in a record, which has a 16-bit length; see perf_file_frames(). */
#define PERF_FILE_FRAMES 8000
/* Maximum bytes of a payload: PERF_MAX_TRACE_SIZE of Linux. */
#define PERF_FILE_PAYLOAD 8192u

struct perf_file_sample {
	struct perf_file_id id;
	uint32_t event;		/* index in the events */
	uint64_t period;
	const uint64_t *kernel, *user;	/* runtime addresses, leaf first */
	size_t nkernel, nuser;
	const uint8_t *payload;	/* for events with fields; what is missing is zeros */
	size_t payload_len;	/* a longer one than PERF_FILE_PAYLOAD is left out */
};

/* Frames that a sample may have, kernel and user together, with a payload of @payload_len bytes. */
size_t perf_file_frames(size_t payload_len);
void perf_file_sample(struct perf_file *pf, const struct perf_file_sample *s);

/* ---- sections behind the records ---- */

/* Numbers of the format: header_feature in tools/perf/util/header.h. */
enum perf_file_text { PERF_FILE_HOSTNAME = 3, PERF_FILE_OSRELEASE = 4, PERF_FILE_VERSION = 5, PERF_FILE_ARCH = 6,
		      PERF_FILE_CMDLINE = 11 };
/* @text NULL: unknown. */
void perf_file_text(struct perf_file *pf, enum perf_file_text what, const char *text);
void perf_file_cpus(struct perf_file *pf, uint32_t n);
/* In KiB. */
void perf_file_memory(struct perf_file *pf, uint64_t kb);
/* The file under @name has this build-id of @len bytes, at most BUILD_ID_MAX. */
void perf_file_build_id(struct perf_file *pf, const char *name, bool kernel, const uint8_t *id, size_t len);
/* Record time @ns was at wall clock @wall_ns. Nothing is written for perf's own clock. */
void perf_file_clock(struct perf_file *pf, uint64_t wall_ns, uint64_t ns);

/* Writes all sections and the header. 0, or negative errno of the first failed write. */
int perf_file_finish(struct perf_file *pf);

#endif
