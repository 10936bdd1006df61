#include "rec_queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec.h"
#include "crc32c.h"
#include "stream_codec.h"
#include "xalloc.h"

#define JOBS 4
#define PAYLOAD_KEEP (1u << 20)		/* buffers of rare large payloads are given back */
/*
 * Bytes a sample at levels 1, 2, 3, 5: g++ compile 82, 76, 75, 71; deep C++ stacks 42, 39, 38, 34;
 * python3 20, 20, 20, 19 (cpu-clock, 999 Hz, 64 KiB copies). There are 50 to 250 raw bytes a
 * sample, so level 3 costs this thread about a microsecond each.
 */
#define ZSTD_LEVEL 3
/* Captures come once, at the end: 8 % smaller than at level 3, 15 ms for a megabyte. */
#define PAYLOAD_LEVEL 6

struct rec_queue {
	int fd;
	bool joined;
	pthread_mutex_t lock;		/* guards free, head, tail, stop */
	pthread_cond_t work, room;
	struct rec_job *free, *head, *tail;
	bool stop;
	_Atomic int err;		/* sticky, negative errno */
	_Atomic uint64_t bytes;
	/* Used by the thread only. */
	pthread_t thread;
	struct stream_enc *stream;
	struct codec_enc *codec;
	struct strbuf block;		/* header and payload as they go out */
	char *tmp;			/* owned; compressed payload */
	size_t tmp_cap;
	uint32_t seq;
	struct rec_index_entry *index;	/* owned */
	size_t nindex, index_cap;
	struct rec_job jobs[JOBS];
};

static int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) { /* someone else's O_NONBLOCK on our stdout */
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };

			poll(&pfd, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static void put(struct rec_queue *q, const void *data, size_t len)
{
	int err = atomic_load(&q->err);

	if (err)
		return;
	err = write_all(q->fd, data, len);
	if (err)
		atomic_store(&q->err, err);
	else
		atomic_fetch_add(&q->bytes, len);
}

/* A payload other than STREAM's, compressed if that makes it smaller. Returns the flag to set. */
static uint16_t pack_payload(struct rec_queue *q, const struct strbuf *raw)
{
	size_t n;

	if (q->tmp_cap < codec_bound(raw->len)) {
		q->tmp_cap = codec_bound(raw->len);
		q->tmp = xrealloc(q->tmp, q->tmp_cap);
	}
	n = codec_compress(q->codec, q->tmp, q->tmp_cap, raw->s, raw->len, NULL, 0);
	if (n && n < raw->len) {
		strbuf_add(&q->block, q->tmp, n);
		return REC_F_ZSTD;
	}
	strbuf_add(&q->block, raw->s, raw->len);
	return 0;
}

static void write_block(struct rec_queue *q, const struct rec_job *job)
{
	struct rec_block_header h = {
		.magic = REC_BLOCK_MAGIC, .type = job->type, .flags = job->flags, .seq = q->seq,
		.samples = job->samples, .events = job->events,
	};
	uint64_t off = atomic_load(&q->bytes);
	size_t raw = 0;

	strbuf_reset(&q->block);
	strbuf_add(&q->block, &h, sizeof(h));
	if (job->type == REC_STREAM) {
		stream_pack(q->stream, job->flags & REC_F_KEY, job->col, &q->block);
		for (unsigned int i = 0; i < REC_COL_NR; i++)
			raw += job->col[i].len;
	} else {
		h.flags |= pack_payload(q, &job->payload);
		raw = job->payload.len;
	}
	h.raw_len = (uint32_t)raw;
	h.stored_len = (uint32_t)(q->block.len - sizeof(h));
	memcpy(q->block.s, &h, sizeof(h));
	h.crc = crc32c(0, q->block.s, q->block.len);
	memcpy(q->block.s, &h, sizeof(h));
	put(q, q->block.s, q->block.len);
	q->seq++;
	if (job->type == REC_END)
		return;
	XGROW(q->index, q->nindex, q->index_cap);
	q->index[q->nindex++] = (struct rec_index_entry){
		.off = off, .samples = h.samples, .type = h.type, .flags = h.flags,
	};
}

static void write_end(struct rec_queue *q, struct rec_job *job)
{
	struct rec_trailer t = { .end_off = atomic_load(&q->bytes), .magic = REC_TRAILER_MAGIC };

	/* An index that does not fit is left out; the reader walks the blocks then. */
	if (q->nindex * sizeof(*q->index) <= REC_BLOCK_MAX)
		strbuf_add(&job->payload, q->index, q->nindex * sizeof(*q->index));
	write_block(q, job);
	put(q, &t, sizeof(t));
}

static void *run(void *arg)
{
	struct rec_queue *q = arg;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		struct rec_job *job = q->head;

		if (!job && q->stop)
			break;
		if (!job) {
			pthread_cond_wait(&q->work, &q->lock);
			continue;
		}
		q->head = job->next;
		pthread_mutex_unlock(&q->lock);
		/* After an error nothing is written, but the caller's queue has to move on. */
		if (!atomic_load(&q->err)) {
			if (job->type == REC_END)
				write_end(q, job);
			else
				write_block(q, job);
		}
		pthread_mutex_lock(&q->lock);
		job->next = q->free;
		q->free = job;
		pthread_cond_signal(&q->room);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct rec_job *rec_queue_take(struct rec_queue *q, enum rec_block_type type)
{
	struct rec_job *job;

	pthread_mutex_lock(&q->lock);
	while (!q->free)
		pthread_cond_wait(&q->room, &q->lock);
	job = q->free;
	q->free = job->next;
	pthread_mutex_unlock(&q->lock);
	job->next = NULL;
	job->type = (uint16_t)type;
	job->flags = 0;
	job->samples = job->events = 0;
	job->run_of_events = false;
	job->run = 0;
	for (unsigned int i = 0; i < REC_COL_NR; i++)
		strbuf_reset(&job->col[i]);
	if (job->payload.cap > PAYLOAD_KEEP)
		strbuf_fini(&job->payload);
	strbuf_reset(&job->payload);
	return job;
}

void rec_queue_submit(struct rec_queue *q, struct rec_job *job)
{
	pthread_mutex_lock(&q->lock);
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
	sigset_t all, old;
	int err;

	/* The recorder's signals are for the thread that handles them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&q->thread, NULL, run, q);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

struct rec_queue *rec_queue_new(int fd, const struct rec_file_header *h, int *err)
{
	struct rec_queue *q = xcalloc(1, sizeof(*q));

	q->fd = fd;
	q->stream = stream_enc_new(ZSTD_LEVEL);
	q->codec = codec_enc_new(PAYLOAD_LEVEL);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->work, NULL);
	pthread_cond_init(&q->room, NULL);
	for (unsigned int i = 0; i < JOBS; i++) {
		q->jobs[i].next = q->free;
		q->free = &q->jobs[i];
	}
	q->joined = true;
	put(q, h, sizeof(*h));
	*err = atomic_load(&q->err);
	if (!*err)
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

int rec_queue_error(const struct rec_queue *q)
{
	return atomic_load(&q->err);
}

uint64_t rec_queue_bytes(const struct rec_queue *q)
{
	return atomic_load(&q->bytes);
}

void rec_queue_free(struct rec_queue *q)
{
	rec_queue_join(q);
	for (unsigned int i = 0; i < JOBS; i++) {
		for (unsigned int k = 0; k < REC_COL_NR; k++)
			strbuf_fini(&q->jobs[i].col[k]);
		strbuf_fini(&q->jobs[i].payload);
	}
	stream_enc_free(q->stream);
	codec_enc_free(q->codec);
	strbuf_fini(&q->block);
	free(q->tmp);
	free(q->index);
	pthread_cond_destroy(&q->work);
	pthread_cond_destroy(&q->room);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
