#include "recording/rec_queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/signals.h"
#include "base/util.h"
#include "base/write_all.h"
#include "base/xalloc.h"
#include "bytes/codec.h"
#include "bytes/crc32c.h"
#include "event.h"
#include "slice/slice_codec.h"

#define EXTRA_BYTES (16u << 20)		/* payload of jobs outside the pool, at the same time */
#define PAYLOAD_KEEP (1u << 20)		/* larger payload buffers are rare and get freed */
/*
 * For the side-band events of STREAM blocks: 5 % larger than at level 6 when many programs come and
 * go.
 */
#define ZSTD_LEVEL 3
/* Captures come once, at the end: 8 % smaller than at level 3, for 15 ms per megabyte. */
#define PAYLOAD_LEVEL 6

/* One packed block in memory. */
struct mem_block {
	struct mem_block *next;
	uint32_t segment;
	uint32_t len;			/* header and payload */
	char data[];
};

struct rec_out {
	int fd;				/* borrowed; -1 = memory */
	_Atomic int err;		/* sticky, negative errno */
	_Atomic bool done, copying;
	_Atomic uint64_t bytes;
	uint32_t segment;		/* of future jobs; belongs to the caller */
	/* Guarded by the queue's lock. */
	uint32_t first;			/* segments below are forgotten, even if still to arrive */
	struct mem_block *head, *tail;	/* owned, oldest first */
	/* Used by the queue's thread only. */
	uint32_t seq;
	struct rec_index_entry *index;	/* owned */
	size_t nindex, index_cap;
};

struct rec_queue {
	bool joined;
	pthread_mutex_t lock;		/* guards the members up to stop */
	pthread_cond_t work, room;
	struct rec_job *free, *head, *tail;
	unsigned int nfree;
	unsigned int least_free;
	uint64_t waits;
	uint64_t stall;			/* ns: see rec_queue_stall() */
	size_t extra;			/* bytes waiting outside the pool */
	bool stop;
	_Atomic int effort;		/* enum stream_effort */
	/* Used by the thread only. */
	pthread_t thread;
	struct stream_enc *stream;
	struct codec_enc *codec;
	struct slice_enc *slices;
	struct strbuf block;		/* header and payload as written */
	char *tmp;			/* owned; compressed payload */
	size_t tmp_cap;
	struct rec_job jobs[REC_QUEUE_JOBS];
};

static void put(struct rec_out *o, const void *data, size_t len)
{
	int err = atomic_load(&o->err);

	if (err)
		return;
	err = write_all(o->fd, data, len);
	if (err)
		atomic_store(&o->err, err);
	else
		atomic_fetch_add(&o->bytes, len);
}

/* Segment numbers wrap around. */
static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static void keep(struct rec_queue *q, struct rec_out *o, uint32_t segment, const void *data,
		 size_t len)
{
	struct mem_block *b = xmalloc(sizeof(*b) + len);
	bool late;

	b->next = NULL;
	b->segment = segment;
	b->len = (uint32_t)len;
	memcpy(b->data, data, len);
	pthread_mutex_lock(&q->lock);
	late = before(segment, o->first);
	if (!late) {
		if (o->head)
			o->tail->next = b;
		else
			o->head = b;
		o->tail = b;
		atomic_fetch_add(&o->bytes, len);
	}
	pthread_mutex_unlock(&q->lock);
	if (late)
		free(b);
}

/* Number and checksum a whole block, append it to the file, and enter it in the index. */
static void put_block(struct rec_out *o, char *block, size_t len)
{
	uint64_t off = atomic_load(&o->bytes);
	struct rec_block_header h;

	memcpy(&h, block, sizeof(h));
	h.seq = o->seq++;
	h.crc = 0;
	memcpy(block, &h, sizeof(h));
	h.crc = crc32c(0, block, len);
	memcpy(block, &h, sizeof(h));
	put(o, block, len);
	if (h.type == REC_END)
		return;
	XGROW(o->index, o->nindex, o->index_cap);
	o->index[o->nindex++] = (struct rec_index_entry){
		.off = off, .samples = h.samples, .type = h.type, .flags = h.flags,
	};
}

/* Compresses a payload other than STREAM's if that makes it smaller. Returns the flag to set. */
static uint16_t pack_payload(struct rec_queue *q, const struct strbuf *raw)
{
	size_t n;

	if (q->tmp_cap < codec_bound(raw->len)) {
		q->tmp_cap = codec_bound(raw->len);
		q->tmp = xrealloc(q->tmp, q->tmp_cap);
	}
	n = codec_compress(q->codec, q->tmp, q->tmp_cap, raw->s, raw->len);
	if (n && n < raw->len) {
		strbuf_add(&q->block, q->tmp, n);
		return REC_F_ZSTD;
	}
	strbuf_add(&q->block, raw->s, raw->len);
	return 0;
}

/*
 * Pack a sliced ELF file that is completely in this block, if that is smaller. Otherwise, and for
 * all other payloads, returns false and writes nothing.
 */
static bool pack_slice(struct rec_queue *q, const struct rec_job *job)
{
	const struct strbuf *raw = &job->payload;
	struct rec_capture_header h;

	if (job->type != REC_CAPTURE || job->flags & REC_F_CONT)
		return false;
	memcpy(&h, raw->s, sizeof(h));
	if (h.kind != CAPTURE_ELF || h.size != raw->len - sizeof(h))
		return false;
	strbuf_add(&q->block, &h, sizeof(h));
	if (slice_pack(q->slices, q->codec, raw->s + sizeof(h), h.size, &q->block))
		return true;
	q->block.len -= sizeof(h);
	return false;
}

static void write_block(struct rec_queue *q, const struct rec_job *job)
{
	struct rec_block_header h = {
		.magic = REC_BLOCK_MAGIC, .type = job->type, .flags = job->flags,
		.samples = job->samples, .events = job->events,
	};
	size_t raw = 0;

	strbuf_reset(&q->block);
	strbuf_add(&q->block, &h, sizeof(h));
	if (job->type == REC_STREAM) {
		raw = stream_pack(q->stream, atomic_load(&q->effort), job->flags & REC_F_KEY, job->marks,
				  job->col, &q->block);
	} else if (pack_slice(q, job)) {
		h.flags |= REC_F_SLICE;
		raw = q->block.len - sizeof(h);
	} else {
		h.flags |= pack_payload(q, &job->payload);
		raw = job->payload.len;
	}
	h.raw_len = (uint32_t)raw;
	h.stored_len = (uint32_t)(q->block.len - sizeof(h));
	memcpy(q->block.s, &h, sizeof(h));
	if (job->out->fd < 0)
		keep(q, job->out, job->segment, q->block.s, q->block.len);
	else
		put_block(job->out, q->block.s, q->block.len);
}

static void write_end(struct rec_queue *q, struct rec_job *job)
{
	struct rec_out *o = job->out;
	struct rec_trailer t = { .end_off = atomic_load(&o->bytes) };

	memcpy(t.magic, REC_TRAILER_MAGIC, sizeof(t.magic));
	/* An index that is too large is left out; the reader then walks the blocks. */
	if (o->nindex * sizeof(*o->index) <= REC_BLOCK_MAX)
		strbuf_add(&job->payload, o->index, o->nindex * sizeof(*o->index));
	write_block(q, job);
	put(o, &t, sizeof(t));
}

/* The list needs no lock: only this thread appends, and nothing is forgotten meanwhile. */
static void copy_blocks(struct rec_out *to, struct rec_out *from)
{
	for (struct mem_block *b = from->head; b && !atomic_load(&to->err); b = b->next)
		put_block(to, b->data, b->len);
	atomic_store(&from->copying, false);
}

static void do_job(struct rec_queue *q, struct rec_job *job)
{
	if (job->type == REC_JOB_COPY)
		copy_blocks(job->out, job->from);
	/* After an error nothing is written, but the caller's queue must move on. */
	else if (atomic_load(&job->out->err))
		;
	else if (job->type == REC_END)
		write_end(q, job);
	else
		write_block(q, job);
	/* This is the last access to the output: its owner may free it now. */
	if (job->type == REC_END)
		atomic_store(&job->out->done, true);
}

static void free_job(struct rec_job *job)
{
	for (unsigned int k = 0; k < REC_COL_NR; k++)
		strbuf_fini(&job->col[k]);
	strbuf_fini(&job->payload);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Runs a job. Returns the ns in which it did not compute but waited for the output. */
static uint64_t timed_job(struct rec_queue *q, struct rec_job *job)
{
	const uint64_t wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t took, ran;

	do_job(q, job);
	took = clock_ns(CLOCK_MONOTONIC) - wall;
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return took > ran ? took - ran : 0;
}

static void *run(void *arg)
{
	struct rec_queue *q = arg;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		struct rec_job *job = q->head;
		uint64_t stall;

		if (!job && q->stop)
			break;
		if (!job) {
			pthread_cond_wait(&q->work, &q->lock);
			continue;
		}
		q->head = job->next;
		pthread_mutex_unlock(&q->lock);
		stall = timed_job(q, job);
		pthread_mutex_lock(&q->lock);
		q->stall = MAX(q->stall, stall);
		if (job->extra) {
			q->extra -= job->payload.len;
			free_job(job);
			free(job);
		} else {
			job->next = q->free;
			q->free = job;
			q->nfree++;
		}
		pthread_cond_signal(&q->room);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct rec_job *rec_queue_take(struct rec_queue *q, struct rec_out *out, unsigned int type)
{
	struct rec_job *job;

	pthread_mutex_lock(&q->lock);
	q->waits += !q->free && (type == REC_STREAM || q->extra >= EXTRA_BYTES);
	while (!q->free && (type == REC_STREAM || q->extra >= EXTRA_BYTES))
		pthread_cond_wait(&q->room, &q->lock);
	if (q->free) {
		job = q->free;
		q->free = job->next;
		q->nfree--;
		q->least_free = MIN(q->least_free, q->nfree);
	} else {
		job = xcalloc(1, sizeof(*job));
		job->extra = true;
	}
	pthread_mutex_unlock(&q->lock);
	job->next = NULL;
	job->out = out;
	job->from = NULL;
	job->segment = out->segment;
	job->type = (uint16_t)type;
	job->flags = 0;
	job->samples = job->events = 0;
	job->marks = false;
	job->run_of_events = false;
	job->run = 0;
	for (unsigned int i = 0; i < REC_COL_NR; i++)
		strbuf_reset(&job->col[i]);
	if (job->payload.cap > PAYLOAD_KEEP)
		strbuf_fini(&job->payload);
	strbuf_reset(&job->payload);
	return job;
}

unsigned int rec_queue_free_jobs(struct rec_queue *q)
{
	unsigned int n;

	pthread_mutex_lock(&q->lock);
	n = q->nfree;
	pthread_mutex_unlock(&q->lock);
	return n;
}

void rec_queue_pool(struct rec_queue *q, uint64_t *waits, uint64_t *peak)
{
	pthread_mutex_lock(&q->lock);
	*waits = q->waits;
	*peak = REC_QUEUE_JOBS - q->least_free;
	pthread_mutex_unlock(&q->lock);
}

uint64_t rec_queue_stall(struct rec_queue *q)
{
	uint64_t stall;

	pthread_mutex_lock(&q->lock);
	stall = q->stall;
	pthread_mutex_unlock(&q->lock);
	return stall;
}

void rec_queue_effort(struct rec_queue *q, enum stream_effort effort)
{
	atomic_store(&q->effort, effort);
}

void rec_queue_submit(struct rec_queue *q, struct rec_job *job)
{
	pthread_mutex_lock(&q->lock);
	if (job->extra)
		q->extra += job->payload.len;
	if (q->head)
		q->tail->next = job;
	else
		q->head = job;
	q->tail = job;
	pthread_cond_signal(&q->work);
	pthread_mutex_unlock(&q->lock);
}

static int start_thread(struct rec_queue *q)
{
	sigset_t old;
	int err;

	/* The recorder's signals belong to the thread that handles them. */
	signals_block_all(&old);
	err = pthread_create(&q->thread, NULL, run, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

struct rec_queue *rec_queue_new(int *err)
{
	struct rec_queue *q = xcalloc(1, sizeof(*q));

	q->stream = stream_enc_new(ZSTD_LEVEL);
	q->codec = codec_enc_new(PAYLOAD_LEVEL);
	q->slices = slice_enc_new();
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->work, NULL);
	pthread_cond_init(&q->room, NULL);
	for (unsigned int i = 0; i < REC_QUEUE_JOBS; i++) {
		q->jobs[i].next = q->free;
		q->free = &q->jobs[i];
		q->nfree++;
	}
	q->least_free = q->nfree;
	q->joined = true;
	*err = start_thread(q);
	if (*err) {
		rec_queue_free(q);
		return NULL;
	}
	q->joined = false;
	return q;
}

void rec_queue_join(struct rec_queue *q)
{
	if (q->joined)
		return;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_signal(&q->work);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	q->joined = true;
}

void rec_queue_free(struct rec_queue *q)
{
	rec_queue_join(q);
	for (unsigned int i = 0; i < REC_QUEUE_JOBS; i++)
		free_job(&q->jobs[i]);
	stream_enc_free(q->stream);
	codec_enc_free(q->codec);
	slice_enc_free(q->slices);
	strbuf_fini(&q->block);
	free(q->tmp);
	pthread_cond_destroy(&q->work);
	pthread_cond_destroy(&q->room);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* ---- outputs ---- */

struct rec_out *rec_out_new(int fd, const struct rec_file_header *h, int *err)
{
	struct rec_out *o = xcalloc(1, sizeof(*o));

	o->fd = fd;
	put(o, h, sizeof(*h));
	*err = atomic_load(&o->err);
	if (!*err)
		return o;
	rec_out_free(o);
	return NULL;
}

struct rec_out *rec_out_new_memory(void)
{
	struct rec_out *o = xcalloc(1, sizeof(*o));

	o->fd = -1;
	return o;
}

bool rec_out_is_memory(const struct rec_out *o)
{
	return o->fd < 0;
}

uint32_t rec_out_next_segment(struct rec_out *o)
{
	return ++o->segment;
}

void rec_out_forget(struct rec_queue *q, struct rec_out *o, uint32_t segment)
{
	struct mem_block *gone = NULL, **last = &gone;

	pthread_mutex_lock(&q->lock);
	o->first = segment;
	while (o->head && before(o->head->segment, segment)) {
		*last = o->head;
		last = &o->head->next;
		o->head = o->head->next;
		*last = NULL;
	}
	pthread_mutex_unlock(&q->lock);
	while (gone) {
		struct mem_block *next = gone->next;

		atomic_fetch_sub(&o->bytes, gone->len);
		free(gone);
		gone = next;
	}
}

bool rec_out_copying(const struct rec_out *o)
{
	return atomic_load(&o->copying);
}

void rec_out_set_copying(struct rec_out *o)
{
	atomic_store(&o->copying, true);
}

int rec_out_error(const struct rec_out *o)
{
	return atomic_load(&o->err);
}

bool rec_out_done(const struct rec_out *o)
{
	return atomic_load(&o->done);
}

uint64_t rec_out_bytes(const struct rec_out *o)
{
	return atomic_load(&o->bytes);
}

void rec_out_free(struct rec_out *o)
{
	if (!o)
		return;
	while (o->head) {
		struct mem_block *next = o->head->next;

		free(o->head);
		o->head = next;
	}
	free(o->index);
	free(o);
}
