/*
 * The writer's thread: packs finished jobs into blocks and appends them to an output, which is a
 * file descriptor or memory. Jobs come from a fixed pool, so memory is bounded and nothing is
 * allocated for an event once the buffers of the jobs have grown. One thread and one set of
 * compression contexts serve all outputs, in the order of the jobs.
 */
#ifndef NSPROF_REC_QUEUE_H
#define NSPROF_REC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "recording.h"
#include "recording/rec_writer.h"
#include "recording/stream_codec.h"

/* Half a second or 256 KiB each: what a stalled disk may cost in memory, and bridges in time. */
#define REC_QUEUE_JOBS 16u

/* Not in any file: the retained blocks of rec_job.from are to be copied to rec_job.out. */
#define REC_JOB_COPY 0

struct rec_job {			/* one block to be */
	struct rec_job *next;		/* in the free list or the queue */
	struct rec_out *out;		/* where it goes: borrowed until it is done */
	struct rec_out *from;		/* REC_JOB_COPY */
	uint32_t segment;		/* memory: the segment of the output it belongs to */
	uint16_t type, flags;		/* as in struct rec_block_header */
	uint32_t samples, events;
	struct strbuf col[REC_COL_NR];	/* STREAM */
	struct strbuf payload;		/* all other types */
	bool extra;			/* not of the pool */
	/* REC_COL_ORDER: the run that is not written yet. */
	bool run_of_events;
	uint64_t run;
};

struct rec_queue;

/* Starts the thread. NULL with *@err = negative errno, no message. */
struct rec_queue *rec_queue_new(int *err);
/*
 * An empty job of @type for @out. When all jobs of the pool are on their way, STREAM waits for the disk; other
 * types are few and get one of their own, as long as those are few.
 */
struct rec_job *rec_queue_take(struct rec_queue *q, struct rec_out *out, unsigned int type);
/* Jobs that can be had without waiting, of REC_QUEUE_JOBS. */
unsigned int rec_queue_free_jobs(struct rec_queue *q);
/* Times somebody had to wait for a job, and the most of the pool that was ever in use. */
void rec_queue_pool(struct rec_queue *q, uint64_t *waits, uint64_t *peak);
/* ns: the longest that the output took to take one block. One that is still on its way is not in it. */
uint64_t rec_queue_stall(struct rec_queue *q);
/* How STREAM blocks are packed from now on. */
void rec_queue_effort(struct rec_queue *q, enum stream_effort effort);
/* Give a job back to be written after all those before it. */
void rec_queue_submit(struct rec_queue *q, struct rec_job *job);
/* Wait until everything submitted is written, and end the thread. May be called again. */
void rec_queue_join(struct rec_queue *q);
/* Joins. The outputs have to be freed before. */
void rec_queue_free(struct rec_queue *q);

/*
 * Writes the file header @h to @fd (borrowed) at once. NULL with *@err = negative errno, no
 * message. Own with rec_out_free(), once it is done or the thread is joined.
 */
struct rec_out *rec_out_new(int fd, const struct rec_file_header *h, int *err);
/* Keeps its blocks in memory, in segments numbered from 0, until they are forgotten. */
struct rec_out *rec_out_new_memory(void);
bool rec_out_is_memory(const struct rec_out *o);
/* The jobs taken for memory @o from now on belong to the next segment, whose number is returned. */
uint32_t rec_out_next_segment(struct rec_out *o);
/* Forget the blocks of all segments below @segment. Not while a copy of @o is on its way. */
void rec_out_forget(struct rec_queue *q, struct rec_out *o, uint32_t segment);
/* A REC_JOB_COPY from @o was submitted and is not done yet. */
bool rec_out_copying(const struct rec_out *o);
void rec_out_set_copying(struct rec_out *o);
int rec_out_error(const struct rec_out *o);	/* 0, or negative errno of the first failure */
/* Written to the fd, header included; of memory: bytes held now. */
uint64_t rec_out_bytes(const struct rec_out *o);
void rec_out_free(struct rec_out *o);		/* accepts NULL */

#endif
