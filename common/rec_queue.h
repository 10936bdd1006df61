/*
 * The writer's thread: packs finished jobs into blocks and appends them to a file descriptor. Jobs
 * come from a fixed pool, so memory is bounded and nothing is allocated for an event once the
 * buffers of the jobs have grown.
 */
#ifndef NSPROF_REC_QUEUE_H
#define NSPROF_REC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording.h"
#include "strbuf.h"

struct rec_job {			/* one block to be */
	struct rec_job *next;		/* in the free list or the queue */
	uint16_t type, flags;		/* as in struct rec_block_header */
	uint32_t samples, events;
	struct strbuf col[REC_COL_NR];	/* STREAM */
	struct strbuf payload;		/* all other types */
	/* REC_COL_ORDER: the run that is not written yet. */
	bool run_of_events;
	uint64_t run;
};

struct rec_queue;

/*
 * Writes the file header @h to @fd (borrowed) at once, then starts the thread. NULL with *@err =
 * negative errno, no message.
 */
struct rec_queue *rec_queue_new(int fd, const struct rec_file_header *h, int *err);
/* An empty job of @type. Waits for the disk when all jobs are on their way. */
struct rec_job *rec_queue_take(struct rec_queue *q, enum rec_block_type type);
/* Give a job back to be written after all those before it. */
void rec_queue_submit(struct rec_queue *q, struct rec_job *job);
/* Wait until everything submitted is written, and end the thread. May be called again. */
void rec_queue_join(struct rec_queue *q);
int rec_queue_error(const struct rec_queue *q); /* 0, or negative errno of the first failure */
uint64_t rec_queue_bytes(const struct rec_queue *q);	/* written to the fd, header included */
void rec_queue_free(struct rec_queue *q);		/* joins */

#endif
