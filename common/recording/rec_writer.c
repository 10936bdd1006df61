/*
 * Encodes events into the columns of the growing STREAM block. Decides where blocks end and where
 * the coding is reset. rec_queue.c packs and writes.
 */
#include "recording/rec_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "recording.h"
#include "recording/event_codec.h"
#include "recording/event_table.h"
#include "recording/ledger_codec.h"
#include "recording/rec_queue.h"
#include "samples/sample_codec.h"
#include "samples/shadow.h"

#define BLOCK_BYTES (512u << 10)		/* raw bytes that end a STREAM block */
#define BLOCK_BYTES_MAX (8u << 20)		/* when the disk cannot keep up with side-band */
#define BLOCK_AGE_NS 500000000ull		/* age that ends a STREAM block */
#define SWITCHES_MAX (REC_SWITCHES_MAX * sizeof(struct ev_switch))	/* bytes that end it, too */
#define KEY_BLOCKS 64				/* STREAM blocks from one KEY block to the next, */
#define KEY_BYTES (64u << 20)			/* or raw bytes, whichever comes first */
#define SHADOW_BYTES (48u << 20)		/* shadows of all threads together */

struct rec_writer {
	struct rec_queue *queue;
	struct rec_out *out;		/* the current file, or memory */
	struct sample_enc *samples;
	struct event_enc events;
	struct rec_job *cur;		/* the growing STREAM block, or NULL */
	struct strbuf info;		/* all settings: each file has them */
	size_t info_told;		/* bytes of info in the current file */
	uint64_t cur_since;		/* ns, first tick that saw cur; 0 = none yet */
	uint64_t start;			/* ns of CLOCK_MONOTONIC, as in the current file's header */
	uint32_t since_key; /* STREAM blocks begun since the last KEY block, including it */
	uint64_t raw_since_key;		/* bytes */
	bool patient;			/* see rec_writer_patient() */
	bool several;			/* REC_VERSION: there are events, */
	bool waits;			/* one of ROLE_WAITS among them */
	struct event_table table;
	bool finished;
};

static size_t raw_bytes(const struct rec_job *job)
{
	size_t n = 0;

	for (unsigned int i = 0; i < REC_COL_NR; i++)
		n += job->col[i].len;
	return n;
}

static void write_info(struct rec_writer *w, struct rec_out *o, size_t from)
{
	struct rec_job *job;

	if (from == w->info.len)
		return;
	job = rec_queue_take(w->queue, o, REC_INFO);
	strbuf_add(&job->payload, w->info.s + from, w->info.len - from);
	rec_queue_submit(w->queue, job);
}

static void flush_info(struct rec_writer *w)
{
	if (rec_out_is_memory(w->out))
		return;
	write_info(w, w->out, w->info_told);
	w->info_told = w->info.len;
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

/* Brings the order column up to date for the next event or sample. */
static void count_in(struct rec_job *job, bool event)
{
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
}

/* Coding restarts with this block. Whoever reads from here on needs to know the events. */
static void begin_key(struct rec_writer *w, struct rec_job *job)
{
	job->flags |= REC_F_KEY;
	sample_enc_key(w->samples);
	w->since_key = 0;
	w->raw_since_key = 0;
	for (uint32_t i = 0; i < w->table.n; i++) {
		count_in(job, true);
		event_enc_event(&w->events, &job->col[REC_COL_EVENTS], &w->table.ev[i]);
	}
}

/* Makes sure that there is a STREAM block. True if it is a KEY block that begins now. */
static bool open_stream(struct rec_writer *w)
{
	bool key;

	flush_info(w);
	if (w->cur)
		return false;
	w->cur = rec_queue_take(w->queue, w->out, REC_STREAM);
	event_enc_begin(&w->events);
	key = !w->since_key || w->since_key >= KEY_BLOCKS || w->raw_since_key >= KEY_BYTES ||
	      sample_enc_wants_key(w->samples);
	if (key)
		begin_key(w, w->cur);
	w->since_key++;
	return key;
}

/* The STREAM block for the next event or sample, with its order column brought up to date. */
static struct rec_job *stream_job(struct rec_writer *w, bool event)
{
	open_stream(w);
	count_in(w->cur, event);
	return w->cur;
}

/*
 * A full block stays open if it would take the last job of the pool. Side-band events are still
 * added to it; samples must be dropped.
 */
static bool may_flush(struct rec_writer *w, size_t raw)
{
	return w->patient || rec_queue_free_jobs(w->queue) || raw >= BLOCK_BYTES_MAX;
}

static int stream_done(struct rec_writer *w)
{
	size_t raw = raw_bytes(w->cur);

	if (raw >= BLOCK_BYTES && (may_flush(w, raw) || w->cur->col[REC_COL_SWITCHES].len >= SWITCHES_MAX))
		flush_stream(w);
	return rec_out_error(w->out);
}

/* Ends a file or segment. One in which nothing happened says what its events are, too. */
static void end_part(struct rec_writer *w)
{
	if (w->table.n && !w->since_key)
		open_stream(w);
	flush_stream(w);
}

/* ---- interface ---- */

static uint64_t wall_ns_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static struct rec_out *open_out_at(int fd, uint64_t start_ns, uint64_t wall_ns, bool several, int *err)
{
	struct rec_file_header h = {
		.version = several ? REC_VERSION : REC_VERSION_PLAIN, .header_size = sizeof(h), .arch = REC_ARCH_X86_64,
		.start_wall_ns = wall_ns, .start_mono_ns = start_ns,
	};

	memcpy(h.magic, REC_MAGIC, sizeof(h.magic));
	return rec_out_new(fd, &h, err);
}

/* Opens a file that begins at @start_ns of CLOCK_MONOTONIC. */
static struct rec_out *open_out(int fd, uint64_t start_ns, bool several, int *err)
{
	uint64_t age = clock_mono_ns() - start_ns;

	return open_out_at(fd, start_ns, wall_ns_now() - age, several, err);
}

/* Takes both. @out is NULL when opening it failed, or was skipped because there is no @queue. */
static struct rec_writer *new_writer(struct rec_queue *queue, struct rec_out *out, uint64_t start_ns, bool several)
{
	struct rec_writer *w;

	if (!out) {
		if (queue)
			rec_queue_free(queue);
		return NULL;
	}
	w = xcalloc(1, sizeof(*w));
	w->queue = queue;
	w->out = out;
	w->start = start_ns;
	w->samples = sample_enc_new(SHADOW_BYTES / sizeof(struct shadow_page));
	w->several = several;
	if (several)
		sample_enc_events(w->samples);
	return w;
}

/* The queue comes first: if it gets no thread, nothing may be in the file yet. */
struct rec_writer *rec_writer_new_since(int fd, uint64_t start_ns, bool events, int *err)
{
	struct rec_queue *queue = rec_queue_new(err);

	return new_writer(queue, queue ? open_out(fd, start_ns, events, err) : NULL, start_ns, events);
}

struct rec_writer *rec_writer_new(int fd, int *err)
{
	return rec_writer_new_since(fd, clock_mono_ns(), false, err);
}

struct rec_writer *rec_writer_new_events(int fd, int *err)
{
	return rec_writer_new_since(fd, clock_mono_ns(), true, err);
}

struct rec_writer *rec_writer_new_at(int fd, uint64_t start_ns, uint64_t wall_ns, bool events, int *err)
{
	struct rec_queue *queue = rec_queue_new(err);

	return new_writer(queue, queue ? open_out_at(fd, start_ns, wall_ns, events, err) : NULL, start_ns, events);
}

struct rec_writer *rec_writer_new_memory(uint64_t start_ns, bool events, int *err)
{
	struct rec_queue *queue = rec_queue_new(err);

	return new_writer(queue, queue ? rec_out_new_memory() : NULL, start_ns, events);
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

int rec_writer_pressure(struct rec_writer *w, const struct ev_pressure *ev)
{
	event_enc_pressure(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_absence(struct rec_writer *w, const struct ev_absence *ev)
{
	event_enc_absence(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_container(struct rec_writer *w, const struct ev_container *ev)
{
	event_enc_container(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_budget(struct rec_writer *w, const struct ev_budget *ev)
{
	event_enc_budget(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_schedstat(struct rec_writer *w, const struct ev_schedstat *ev)
{
	event_enc_schedstat(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_wakeup(struct rec_writer *w, const struct ev_wakeup *ev)
{
	event_enc_wakeup(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_toggle(struct rec_writer *w, const struct ev_toggle *ev)
{
	event_enc_toggle(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_event(struct rec_writer *w, const struct ev_event *ev)
{
	int err = w->several ? event_table_put(&w->table, ev) : -EINVAL;

	if (err <= 0)
		return err;
	w->waits |= ev->role == ROLE_WAITS;
	/* A KEY block begins with all of them. */
	if (!open_stream(w))
		event_enc_event(&w->events, &stream_job(w, true)->col[REC_COL_EVENTS], ev);
	return stream_done(w);
}

int rec_writer_switch(struct rec_writer *w, const struct ev_switch *ev)
{
	if (!w->several)
		return -EINVAL;
	open_stream(w);
	strbuf_add(&w->cur->col[REC_COL_SWITCHES], ev, sizeof(*ev));
	return stream_done(w);
}

/*
 * Samples of threads that leave a CPU are marked among the switches, if the marks of a block are in
 * the order of its samples. They are not if a sample came too late.
 */
static enum sample_mark mark_sample(const struct rec_writer *w, struct rec_job *job, const struct sample_in *s)
{
	/* The first sample decides for the block. */
	if (job->samples == 1) {
		job->marks = w->waits;
		job->mark_time = 0;
	}
	if (!job->marks)
		return MARKS_NONE;
	if (w->table.ev[s->event].role != ROLE_WAITS || s->time < job->mark_time ||
	    (s->time == job->mark_time && s->cpu <= job->mark_cpu))
		return MARK_OTHER;
	job->mark_time = s->time;
	job->mark_cpu = s->cpu;
	strbuf_add(&job->col[REC_COL_SWITCHES],
		   &(struct ev_switch){ .time = s->time, .pid = s->pid, .tid = s->tid, .cpu = s->cpu, .mark = true },
		   sizeof(struct ev_switch));
	return MARK_NEXT;
}

int rec_writer_sample(struct rec_writer *w, const struct sample_in *s)
{
	struct rec_job *job;

	if (s->event >= (w->several ? w->table.n : 1) || s->payload_len > (w->several ? PAYLOAD_MAX : 0))
		return -EINVAL;
	/* A full block is still open: when it filled up, the pool was exhausted. */
	if (w->cur && raw_bytes(w->cur) >= BLOCK_BYTES) {
		if (!rec_queue_free_jobs(w->queue))
			return rec_out_error(w->out) ? rec_out_error(w->out) : -EAGAIN;
		flush_stream(w);
	}
	/* In this order: stream_job() may begin a KEY block, which resets the encoder. */
	job = stream_job(w, false);
	sample_enc_add(w->samples, s, mark_sample(w, job, s), &job->col[REC_COL_SAMPLES]);
	return stream_done(w);
}

int rec_writer_tick(struct rec_writer *w, uint64_t now_ns)
{
	flush_info(w);
	if (w->cur && !w->cur_since)
		w->cur_since = now_ns;
	else if (w->cur && now_ns - w->cur_since >= BLOCK_AGE_NS && may_flush(w, raw_bytes(w->cur)))
		flush_stream(w);
	return rec_out_error(w->out);
}

unsigned int rec_writer_fill(const struct rec_writer *w)
{
	return 100 * (REC_QUEUE_JOBS - rec_queue_free_jobs(w->queue)) / REC_QUEUE_JOBS;
}

void rec_writer_patient(struct rec_writer *w)
{
	w->patient = true;
}

void rec_writer_pool(const struct rec_writer *w, uint64_t *waits, uint64_t *peak)
{
	rec_queue_pool(w->queue, waits, peak);
}

uint64_t rec_writer_stall(const struct rec_writer *w)
{
	return rec_queue_stall(w->queue);
}

void rec_writer_effort(struct rec_writer *w, enum pressure_level level)
{
	rec_queue_effort(w->queue, level == PRESSURE_NONE   ? STREAM_BEST
				   : level == PRESSURE_FAST ? STREAM_FAST
							    : STREAM_STORED);
}

/*
 * A capture does not end the current STREAM block: many short processes would make many short
 * blocks, and readers cannot see the order of the two. -EFBIG, not sticky, for captures above
 * REC_CAPTURE_MAX.
 */
int rec_out_capture(struct rec_writer *w, struct rec_out *o, const struct capture *cap)
{
	struct rec_capture_header h = { .kind = cap->kind, .id = cap->id, .size = cap->size };
	const char *p = cap->data;
	size_t left = cap->size;
	bool first = true;

	if (cap->size > REC_CAPTURE_MAX)
		return -EFBIG;
	do {
		struct rec_job *job = rec_queue_take(w->queue, o, REC_CAPTURE);
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
	return rec_out_error(o);
}

int rec_writer_capture(struct rec_writer *w, const struct capture *cap)
{
	flush_info(w);
	return rec_out_capture(w, w->out, cap);
}

int rec_out_ledger(struct rec_writer *w, struct rec_out *o, const struct ev_ledger *l)
{
	struct rec_job *job = rec_queue_take(w->queue, o, REC_LEDGER);

	ledger_enc(&job->payload, l);
	rec_queue_submit(w->queue, job);
	return rec_out_error(o);
}

int rec_writer_ledger(struct rec_writer *w, const struct ev_ledger *l)
{
	flush_info(w);
	flush_stream(w);
	return rec_out_ledger(w, w->out, l);
}

int rec_out_tally(struct rec_writer *w, struct rec_out *o, const struct ev_tally *rows, size_t n)
{
	struct rec_job *job;

	if (n) {
		job = rec_queue_take(w->queue, o, REC_TALLY);
		tally_enc(&job->payload, rows, MIN(n, (size_t)REC_TABLE_ROWS));
		rec_queue_submit(w->queue, job);
	}
	return rec_out_error(o);
}

/* As with captures, the current STREAM block continues. */
int rec_writer_tally(struct rec_writer *w, const struct ev_tally *rows, size_t n)
{
	flush_info(w);
	return rec_out_tally(w, w->out, rows, n);
}

int rec_out_counts(struct rec_writer *w, struct rec_out *o, const struct ev_counts *rows, size_t n)
{
	struct rec_job *job;

	if (n) {
		job = rec_queue_take(w->queue, o, REC_COUNTS);
		counts_enc(&job->payload, rows, MIN(n, (size_t)REC_TABLE_ROWS));
		rec_queue_submit(w->queue, job);
	}
	return rec_out_error(o);
}

int rec_writer_counts(struct rec_writer *w, const struct ev_counts *rows, size_t n)
{
	flush_info(w);
	return rec_out_counts(w, w->out, rows, n);
}

uint64_t rec_writer_start(const struct rec_writer *w)
{
	return w->start;
}

void rec_out_finish(struct rec_writer *w, struct rec_out *o)
{
	rec_queue_submit(w->queue, rec_queue_take(w->queue, o, REC_END));
}

int rec_writer_finish(struct rec_writer *w)
{
	if (!w->finished) {
		flush_info(w);
		end_part(w);
		if (!rec_out_is_memory(w->out))
			rec_out_finish(w, w->out);
		rec_queue_join(w->queue);
		w->finished = true;
	}
	return rec_out_error(w->out);
}

uint64_t rec_writer_bytes(const struct rec_writer *w)
{
	return rec_out_bytes(w->out);
}

void rec_writer_free(struct rec_writer *w)
{
	if (!w)
		return;
	rec_queue_join(w->queue);
	rec_out_free(w->out);
	rec_queue_free(w->queue);
	sample_enc_free(w->samples);
	event_table_fini(&w->table);
	event_enc_fini(&w->events);
	strbuf_fini(&w->info);
	free(w);
}

/* ---- more than one file ---- */

struct rec_out *rec_writer_turn(struct rec_writer *w, int fd, int *err)
{
	uint64_t now = clock_mono_ns();
	struct rec_out *old = w->out, *out = open_out(fd, now, w->several, err);

	if (!out)
		return NULL;
	flush_info(w);
	end_part(w);
	w->out = out;
	w->start = now;
	w->info_told = 0;
	w->since_key = 0;
	return old;
}

uint32_t rec_writer_segment(struct rec_writer *w)
{
	end_part(w);
	w->since_key = 0;
	return rec_out_next_segment(w->out);
}

void rec_writer_forget(struct rec_writer *w, uint32_t segment)
{
	if (!rec_out_copying(w->out))
		rec_out_forget(w->queue, w->out, segment);
}

struct rec_out *rec_writer_dump(struct rec_writer *w, int fd, uint64_t start_ns, int *err)
{
	struct rec_out *out = open_out(fd, start_ns, w->several, err);
	struct rec_job *job;

	if (!out)
		return NULL;
	flush_stream(w);
	write_info(w, out, 0);
	job = rec_queue_take(w->queue, out, REC_JOB_COPY);
	job->from = w->out;
	rec_out_set_copying(w->out);
	rec_queue_submit(w->queue, job);
	return out;
}

int rec_out_close(struct rec_out *o, uint64_t *bytes)
{
	const struct timespec pause = { 0, 1000000 };
	int err;

	while (!rec_out_done(o))
		nanosleep(&pause, NULL);
	err = rec_out_error(o);
	*bytes = rec_out_bytes(o);
	rec_out_free(o);
	return err;
}
