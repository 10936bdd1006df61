/*
 * Where a recording goes: one file; a row of files, each readable alone (--switch-output); or memory
 * that holds the last seconds and is written out when asked (--overwrite).
 *
 * A file that is over still wants its rows, and getting those takes longer than the rings hold. So
 * the next file begins at once, while the rows of the one before are captured on a thread of their
 * own and handed over piece by piece between two drains. One file at a time is closed like that; a
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
struct sink;

/*
 * Flight recorder: segments a window, how many at most, and what their blocks and addresses may take
 * together. A segment goes when those behind it span the window: one more than the window has.
 */
#define SPOOL_SEGMENTS 8
#define SPOOL_SEGMENTS_MAX 64
#define SPOOL_BYTES (32u << 20)

/* A file that is over, on its way to be complete. */
struct closing {
	struct rec_out *out;		/* owned; NULL = none */
	int fd;				/* owned */
	const char *name;		/* the output's */
	struct caplist *list;		/* owned; what it wants rows for */
	struct ledger_part part;
	uint64_t start;			/* ns, as in its header */
	uint64_t bytes;			/* when it was over */
	uint64_t since;			/* ns, when that was */
	struct capture_job job;		/* the thread's while @busy */
	bool busy;
	bool ended;			/* ledger and END are on their way */
	bool last;			/* flight recorder: dumps overlap, so the last one is told of */
};

/* A stretch of the flight recorder that is over. */
struct segment {
	uint32_t number;		/* the writer's */
	uint64_t start;			/* ns of CLOCK_MONOTONIC */
	struct ledger_part part;
};

struct spool {
	const struct record_opts *o;	/* borrowed, as all pointers down to ledger */
	struct events *ev;
	struct output *out;
	struct rec_writer *w;
	struct proctab *pt;
	struct sink *sink;
	struct ledger *ledger;
	struct capture_thread *thread;	/* owned; NULL until it is needed */
	struct closing closing;
	struct segment kept[SPOOL_SEGMENTS_MAX];	/* the oldest first */
	struct caplist *lists[SPOOL_SEGMENTS_MAX];	/* theirs; owned */
	size_t nkept;
	uint32_t number;		/* of the segment that is written now */
	bool wanted;			/* a switch or dump was asked for */
	uint64_t since;			/* ns, when the present file or segment began */
	uint64_t since_bytes;		/* memory: held then */
	/* Of the files that are complete; of a flight recorder the last. */
	struct ledger_part total;
	uint64_t total_bytes, files;
	const char *last;		/* name of the latest, the output's */
	const char *stuck;		/* the present file's, when it was to be over and no other began */
};

/*
 * All borrowed; the writer is open, to memory with o->overwrite. @now_ns: CLOCK_MONOTONIC, as
 * everywhere here.
 */
void spool_init(struct spool *sp, uint64_t now_ns);
/* Joins the thread; closes what is being closed without completing it. */
void spool_fini(struct spool *sp);

/* Several files will come: SIGUSR2 asks for the next. */
bool spool_switches(const struct record_opts *o);
/* Begin a new file, or dump the last seconds, at the next step. */
void spool_ask(struct spool *sp);

/* What is due, from the drain loop. 0; 1: --max-size is reached; negative errno after a message. */
int spool_step(struct spool *sp, uint64_t now_ns);
/* For the loop to wait with, edge-triggered: a step is worth while. -1 = not yet. */
int spool_fd(const struct spool *sp);

/*
 * At the end, everything drained: complete all files. The sum of their ledgers is in sp->total then.
 * @err: a write error of the present file met before, negative errno. 0, or negative errno after a
 * message.
 */
int spool_finish(struct spool *sp, uint64_t now_ns, int err);
/* The name of the file that was written last, for messages. */
const char *spool_name(const struct spool *sp);

#endif
