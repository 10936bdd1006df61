/*
 * Where a recording goes: one file; a series of files, each readable alone (--switch-output); or
 * memory that holds the last seconds and is written out on request (--overwrite).
 *
 * A finished file still needs its rows, and capturing those takes longer than the rings hold. So
 * the next file begins at once. A thread of its own captures the rows of the previous file, and
 * they are handed over piece by piece between two drains. Only one file is closed at a time; a
 * switch that is due meanwhile waits.
 */
#ifndef NSPROF_SPOOL_H
#define NSPROF_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture_job.h"
#include "event.h"
#include "events/record_opts.h"
#include "sink/ledger.h"

struct caplist;
struct capture_thread;
struct events;
struct output;
struct proctab;
struct rec_out;
struct rec_writer;
struct sched_times;
struct sink;

/*
 * Flight recorder: segments per window, their maximum number, and the maximum size of their blocks
 * and addresses together. A segment is dropped once the later ones span the window, so there is one
 * more than the window needs.
 */
#define SPOOL_SEGMENTS 8
#define SPOOL_SEGMENTS_MAX 64
#define SPOOL_BYTES (32u << 20)

/* A finished file that is being completed. */
struct closing {
	struct rec_out *out;		/* owned; NULL = none */
	int fd;				/* borrowed from the output */
	const char *name;		/* the output's */
	struct caplist *list;		/* owned; the files that it needs rows for */
	struct ledger_part part;
	uint64_t start;			/* ns, as in its header */
	uint64_t bytes;			/* when it was finished */
	uint64_t since;			/* ns, when it was finished */
	struct capture_job job;		/* belongs to the thread while @busy */
	bool busy;
	bool ended;			/* ledger and END are being written */
	bool last;			/* flight recorder: the last dump, the only one reported */
};

/* A finished segment of the flight recorder. */
struct segment {
	uint32_t number;		/* the number that the writer gave it */
	uint64_t start;			/* ns of CLOCK_MONOTONIC */
	struct ledger_part part;
};

struct spool {
	const struct record_opts *o;	/* borrowed, as all pointers down to sched */
	struct events *ev;
	struct output *out;
	struct rec_writer *w;
	struct proctab *pt;
	struct sink *sink;
	struct ledger *ledger;
	struct sched_times *sched;	/* NULL: threads without any event need not be in each file */
	struct capture_thread *thread;	/* owned; NULL until it is needed */
	struct closing closing;
	struct segment kept[SPOOL_SEGMENTS_MAX];	/* oldest first */
	struct caplist *lists[SPOOL_SEGMENTS_MAX];	/* for kept[]; owned */
	size_t nkept;
	uint32_t number;		/* of the segment that is being written */
	uint64_t asked;			/* ns, when a switch or dump was asked for; 0 = it was not */
	uint64_t since;			/* ns, when the present file or segment began */
	uint64_t since_bytes;		/* memory: bytes held at that time */
	bool ending;			/* it ends as soon as its threads are in it */
	/* Sums over the completed files; for a flight recorder, over the last one. */
	struct ledger_part total;
	uint64_t total_bytes, files;
	const char *last;		/* name of the latest; borrowed from the output */
	const char *stuck;		/* the present file's name, if a switch failed */
};

/*
 * All pointers are borrowed. The writer is open, to memory with o->overwrite. @now_ns:
 * CLOCK_MONOTONIC, as everywhere here.
 */
void spool_init(struct spool *sp, uint64_t now_ns);
/* Joins the thread. Closes the file that is being closed without completing it. */
void spool_fini(struct spool *sp);

/* Are there several files? Then SIGUSR2 asks for the next. */
bool spool_switches(const struct record_opts *o);
/* Begin a new file, or dump the last seconds, at the next step. A dump has all until @now_ns. */
void spool_ask(struct spool *sp, uint64_t now_ns);
/* Is a dump or the end of a segment still to come? Then the loop has to drain soon what is in the rings. */
bool spool_hurries(const struct spool *sp);

/*
 * Does what is due; for the drain loop. 0; 1: --max-size is reached; negative errno after a
 * message.
 */
int spool_step(struct spool *sp, uint64_t now_ns);
/*
 * A descriptor for the loop, edge-triggered: readable when a step has something to do. -1 = not
 * yet.
 */
int spool_fd(const struct spool *sp);

/*
 * At the end, when everything is drained: completes all files. sp->total then has the sum of their
 * ledgers. @err: an earlier write error of the present file, negative errno. 0, or negative errno
 * after a message.
 */
int spool_finish(struct spool *sp, uint64_t now_ns, int err);
/* The name of the file that was written last, for messages. */
const char *spool_name(const struct spool *sp);

#endif
