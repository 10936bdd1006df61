/*
 * The writer's thread: packs finished jobs into blocks and appends them to an output, which is a
 * file descriptor or memory. Jobs come from a fixed pool, so memory is bounded, and events allocate
 * nothing once the jobs' buffers have grown. One thread and one set of compression contexts serve
 * all outputs, in the order of the jobs.
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

/* Each holds half a second or 256 KiB: the memory and the time that bridge a stalled disk. */
#define REC_QUEUE_JOBS 16u

/* Never in a file: copy the retained blocks of rec_job.from to rec_job.out. */
#define REC_JOB_COPY 0

struct rec_job {			/* a block that is being built */
	struct rec_job *next;		/* in the free list or the queue */
	struct rec_out *out;		/* destination; borrowed until the job is done */
	struct rec_out *from;		/* REC_JOB_COPY */
	uint32_t segment;		/* memory only: the segment of the output it belongs to */
	uint16_t type, flags;		/* as in struct rec_block_header */
	uint32_t samples, events;
	struct strbuf col[REC_COL_NR];	/* STREAM */
	struct strbuf payload;		/* all other types */
	bool marks;			/* STREAM: samples have marks among the switches, */
	uint64_t mark_time;		/* and this is the last of them */
	uint32_t mark_cpu;
	bool extra;			/* not from the pool */
	/* REC_COL_ORDER: the run that is not written yet. */
	bool run_of_events;
	uint64_t run;
};

struct rec_queue;

/* Starts the thread. NULL with *@err = negative errno, no message. */
struct rec_queue *rec_queue_new(int *err);
/*
 * An empty job of @type for @out. When the whole pool is in use, STREAM waits for the disk. Other
 * types are rare and get a job outside the pool, as long as there are few of those.
 */
struct rec_job *rec_queue_take(struct rec_queue *q, struct rec_out *out, unsigned int type);
/* How many of the REC_QUEUE_JOBS jobs can be taken without waiting. */
unsigned int rec_queue_free_jobs(struct rec_queue *q);
/* How often a caller had to wait for a job, and the most jobs of the pool ever in use. */
void rec_queue_pool(struct rec_queue *q, uint64_t *waits, uint64_t *peak);
/* ns: the longest time that the output needed for one block. Does not count a block in progress. */
uint64_t rec_queue_stall(struct rec_queue *q);
/* Sets how STREAM blocks are packed from now on. */
void rec_queue_effort(struct rec_queue *q, enum stream_effort effort);
/* Hand @job over to be written after all jobs submitted before it. */
void rec_queue_submit(struct rec_queue *q, struct rec_job *job);
/* Wait until everything submitted is written, and end the thread. May be called again. */
void rec_queue_join(struct rec_queue *q);
/* Joins. Free the outputs first. */
void rec_queue_free(struct rec_queue *q);

/*
 * Write file header @h to @fd (borrowed) at once. NULL with *@err = negative errno, no message. Own
 * with rec_out_free(), once it is done or the thread is joined.
 */
struct rec_out *rec_out_new(int fd, const struct rec_file_header *h, int *err);
/*
 * An output that keeps its blocks in memory, in segments numbered from 0, until they are forgotten.
 */
struct rec_out *rec_out_new_memory(void);
bool rec_out_is_memory(const struct rec_out *o);
/* Jobs taken for memory output @o from now on belong to the next segment; returns its number. */
uint32_t rec_out_next_segment(struct rec_out *o);
/* Forget the blocks of all segments below @segment. Not while @o is being copied. */
void rec_out_forget(struct rec_queue *q, struct rec_out *o, uint32_t segment);
/* Was a REC_JOB_COPY from @o submitted that is not done yet? */
bool rec_out_copying(const struct rec_out *o);
void rec_out_set_copying(struct rec_out *o);
int rec_out_error(const struct rec_out *o);	/* 0, or negative errno of the first failure */
/* Bytes written to the fd, with the header; for memory, bytes held now. */
uint64_t rec_out_bytes(const struct rec_out *o);
void rec_out_free(struct rec_out *o);		/* accepts NULL */

#endif
