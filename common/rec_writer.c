/*
 * Encodes events into the columns of the STREAM block that grows, and decides where blocks end and
 * where the coding starts anew. Packing and writing happen in rec_queue.c.
 */
#include "rec_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event_codec.h"
#include "rec_queue.h"
#include "recording.h"
#include "sample_codec.h"
#include "shadow.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

#define BLOCK_BYTES (256u << 10)		/* raw column bytes that end a STREAM block */
#define BLOCK_AGE_NS 500000000ull		/* so does this age */
#define KEY_BLOCKS 64				/* STREAM blocks from one KEY block to the next, */
#define KEY_BYTES (16u << 20)			/* or raw bytes, whichever comes first */
#define SHADOW_BYTES (48u << 20)		/* shadows of all threads together */

struct rec_writer {
	struct rec_queue *queue;
	struct sample_enc *samples;
	struct event_enc events;
	struct rec_job *cur;		/* the STREAM block that grows, or NULL */
	struct strbuf info;
	uint64_t cur_since;		/* ns, first tick that saw cur; 0 = none yet */
	uint32_t since_key; /* STREAM blocks begun since the last KEY block, it included */
	uint64_t raw_since_key;		/* bytes */
	bool finished;
};

static size_t raw_bytes(const struct rec_job *job)
{
	size_t n = 0;

	for (unsigned int i = 0; i < REC_COL_NR; i++)
		n += job->col[i].len;
	return n;
}

static void flush_info(struct rec_writer *w)
{
	struct rec_job *job;

	if (!w->info.len)
		return;
	job = rec_queue_take(w->queue, REC_INFO);
	strbuf_add(&job->payload, w->info.s, w->info.len);
	strbuf_reset(&w->info);
	rec_queue_submit(w->queue, job);
}

static void flush_stream(struct rec_writer *w)
{
	struct rec_job *job = w->cur;

	if (!job)
		return;
	strbuf_add_varint(&job->col[REC_COL_ORDER], job->run);
	w->raw_since_key += raw_bytes(job);
	w->cur = NULL;
	w->cur_since = 0;
	rec_queue_submit(w->queue, job);
}

/* The STREAM block an event or a sample goes to, with the order column brought up to date. */
static struct rec_job *stream_job(struct rec_writer *w, bool event)
{
	struct rec_job *job = w->cur;

	flush_info(w);
	if (!job) {
		job = w->cur = rec_queue_take(w->queue, REC_STREAM);
		event_enc_begin(&w->events);
		if (!w->since_key || w->since_key >= KEY_BLOCKS || w->raw_since_key >= KEY_BYTES ||
		    sample_enc_wants_key(w->samples)) {
			job->flags |= REC_F_KEY;
			sample_enc_key(w->samples);
			w->since_key = 0;
			w->raw_since_key = 0;
		}
		w->since_key++;
	}
	if (job->run_of_events != event) {
		strbuf_add_varint(&job->col[REC_COL_ORDER], job->run);
		job->run_of_events = event;
		job->run = 0;
	}
	job->run++;
	if (event)
		job->events++;
	else
		job->samples++;
	return job;
}

static int stream_done(struct rec_writer *w)
{
	if (raw_bytes(w->cur) >= BLOCK_BYTES)
		flush_stream(w);
	return rec_queue_error(w->queue);
}

/* ---- interface ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

struct rec_writer *rec_writer_new(int fd, int *err)
{
	struct rec_file_header h = {
		.magic = REC_MAGIC, .version = REC_VERSION, .header_size = sizeof(h),
		.arch = REC_ARCH_X86_64, .start_wall_ns = clock_ns(CLOCK_REALTIME),
		.start_mono_ns = clock_ns(CLOCK_MONOTONIC),
	};
	struct rec_queue *queue = rec_queue_new(fd, &h, err);
	struct rec_writer *w;

	if (!queue)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->queue = queue;
	w->samples = sample_enc_new(SHADOW_BYTES / sizeof(struct shadow_page));
	return w;
}

void rec_writer_info(struct rec_writer *w, const char *key, const char *value)
{
	strbuf_add(&w->info, key, strlen(key) + 1);
	strbuf_add(&w->info, value, strlen(value) + 1);
}

int rec_writer_dso(struct rec_writer *w, const struct ev_dso *ev)
{
	event_enc_dso(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_proc(struct rec_writer *w, const struct ev_proc *ev)
{
	event_enc_proc(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_mmap(struct rec_writer *w, const struct ev_mmap *ev)
{
	event_enc_mmap(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_comm(struct rec_writer *w, const struct ev_comm *ev)
{
	event_enc_comm(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_fork(struct rec_writer *w, const struct ev_task *ev)
{
	event_enc_fork(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_exit(struct rec_writer *w, const struct ev_task *ev)
{
	event_enc_exit(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_cgroup(struct rec_writer *w, const struct ev_cgroup *ev)
{
	event_enc_cgroup(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_ksymbol(struct rec_writer *w, const struct ev_ksymbol *ev)
{
	event_enc_ksymbol(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_sample(struct rec_writer *w, const struct sample_in *s)
{
	/* First: stream_job() may begin a KEY block, which resets the encoder. */
	struct rec_job *job = stream_job(w, false);

	sample_enc_add(w->samples, s, job->col);
	return stream_done(w);
}

int rec_writer_tick(struct rec_writer *w, uint64_t now_ns)
{
	flush_info(w);
	if (w->cur && !w->cur_since)
		w->cur_since = now_ns;
	else if (w->cur && now_ns - w->cur_since >= BLOCK_AGE_NS)
		flush_stream(w);
	return rec_queue_error(w->queue);
}

/*
 * Captures do not end the running STREAM block: many short processes would make many short blocks,
 * and nothing can see how the two are ordered. -EFBIG, not sticky, for one larger than
 * REC_CAPTURE_MAX.
 */
int rec_writer_capture(struct rec_writer *w, const struct capture *cap)
{
	struct rec_capture_header h = { .kind = cap->kind, .id = cap->id, .size = cap->size };
	const char *p = cap->data;
	size_t left = cap->size;
	bool first = true;

	if (cap->size > REC_CAPTURE_MAX)
		return -EFBIG;
	flush_info(w);
	do {
		struct rec_job *job = rec_queue_take(w->queue, REC_CAPTURE);
		size_t n = MIN(left, REC_CAPTURE_CHUNK);

		if (first)
			strbuf_add(&job->payload, &h, sizeof(h));
		else
			job->flags |= REC_F_CONT;
		strbuf_add(&job->payload, p, n);
		rec_queue_submit(w->queue, job);
		first = false;
		p += n;
		left -= n;
	} while (left);
	return rec_queue_error(w->queue);
}

int rec_writer_ledger(struct rec_writer *w, const struct ev_ledger *l)
{
	struct rec_ledger d = {
		.kept = l->kept, .lost_kernel = l->lost_kernel, .lost_sideband = l->lost_sideband,
		.dropped = l->dropped, .throttled = l->throttled, .unordered = l->unordered,
		.maps_unknown = l->maps_unknown, .copy_full = l->copy_full,
		.flags = l->have_format_lost,
	};
	struct rec_job *job;

	flush_info(w);
	flush_stream(w);
	job = rec_queue_take(w->queue, REC_LEDGER);
	strbuf_add(&job->payload, &d, sizeof(d));
	rec_queue_submit(w->queue, job);
	return rec_queue_error(w->queue);
}

int rec_writer_finish(struct rec_writer *w)
{
	if (!w->finished) {
		flush_info(w);
		flush_stream(w);
		rec_queue_submit(w->queue, rec_queue_take(w->queue, REC_END));
		rec_queue_join(w->queue);
		w->finished = true;
	}
	return rec_queue_error(w->queue);
}

uint64_t rec_writer_bytes(const struct rec_writer *w)
{
	return rec_queue_bytes(w->queue);
}

void rec_writer_free(struct rec_writer *w)
{
	if (!w)
		return;
	rec_queue_free(w->queue);
	sample_enc_free(w->samples);
	event_enc_fini(&w->events);
	strbuf_fini(&w->info);
	free(w);
}
