/*
 * The document of a processed profile: threads with their samples, and facts about the recording
 * (to_firefox.h).
 */
#include "output/to_firefox.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/json.h"
#include "naming/naming.h"
#include "output/firefox_tables.h"
#include "recording/rec_events.h"
#include "recording/ledger_sums.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"

#define PROCESSED_VERSION 60
/* of the browser's own format; not used here, but the field is required */
#define GECKO_VERSION 24
#define NS_PER_MS 1e6

/*
 * A thread of the profile: one of spread.threads, or several that differ only in their cgroup, or
 * in an earlier name of the thread.
 */
struct ff_thread {
	const struct profile_thread *t;	/* of its last sample */
	uint32_t pid_turn, tid_turn;	/* number of earlier processes with its pid; of earlier
					 * threads with its tid */
};

/* A sample, or what a thread waited at one stack in a block of time. */
struct ff_sample {
	uint32_t thread;
	uint32_t spread_thread;	/* in collect.spread */
	uint32_t i;		/* in document.stacks */
	uint64_t time;		/* ns since the start of the recording; of a block: its beginning */
	uint64_t samples, period;
};

struct document {
	const struct to_firefox *in;
	struct json *j;
	struct firefox_tables tables;
	uint32_t *stacks;		/* owned; [sample] */
	struct ff_thread *threads;	/* owned */
	struct ff_sample *samples;	/* owned; by thread and time */
	size_t nthreads, threads_cap, nsamples;
	uint64_t start;
	bool clock;			/* periods are ns of CPU time */
	bool waits;			/* samples are of blocks of time; periods are ns */
};

static const char *info(const struct document *d, const char *key)
{
	const char *v = rec_reader_info(d->in->reader, key);

	return v ? v : "";
}

/* ---- threads of samples ---- */

/*
 * A number that several processes or threads had, one after the other; the turn is the count of
 * earlier ones.
 */
struct turns {
	struct intern *seen;	/* owned; texts that identify the processes or threads */
	struct u64map by_id;	/* id in @seen -> turn */
	struct u64map count;	/* number -> count of its processes or threads */
};

static uint32_t turn_of(struct turns *t, int32_t number, const struct strbuf *thing, uint32_t *id)
{
	bool is_new;
	uint64_t *slot;

	*id = intern_addn(t->seen, thing->s, thing->len);
	slot = u64map_put(&t->by_id, *id, &is_new);
	if (is_new)
		*slot = (*u64map_put(&t->count, (uint32_t)number, NULL))++;
	return (uint32_t)*slot;
}

static void turns_fini(struct turns *t)
{
	intern_free(t->seen);
	u64map_fini(&t->by_id);
	u64map_fini(&t->count);
}

/* [spread.threads] -> thread of the profile. Owned by the caller. */
static uint32_t *make_threads(struct document *d)
{
	struct turns pids = { .seen = intern_new() }, tids = { .seen = intern_new() };
	const struct thread_times *s = &d->in->col->spread;
	uint32_t *of = xcalloc(s->nthreads + 1, sizeof(*of)), process, id;
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < s->nthreads; i++) {
		const struct profile_thread *t = &s->threads[i];
		struct ff_thread ft = { .t = t };

		strbuf_reset(&key);
		strbuf_addf(&key, "%" PRId32 " %" PRIu32 " %" PRIu32, t->pid, t->process, t->container);
		ft.pid_turn = turn_of(&pids, t->pid, &key, &process);
		strbuf_reset(&key);
		strbuf_addf(&key, "%" PRIu32 " %" PRId32 " %" PRIu32, process, t->tid, t->tid == PROFILE_TID_MERGED ? t->comm : 0);
		ft.tid_turn = turn_of(&tids, t->tid, &key, &id);
		of[i] = id - 1;
		if (of[i] < d->nthreads)
			continue;
		XGROW(d->threads, d->nthreads, d->threads_cap);
		d->threads[d->nthreads++] = ft;
	}
	strbuf_fini(&key);
	turns_fini(&pids);
	turns_fini(&tids);
	return of;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct ff_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static void take_each(struct document *d, const uint32_t *of)
{
	const struct collect *c = d->in->col;

	for (size_t i = 0; i < c->neach; i++) {
		const uint64_t time = c->each[i].time;

		d->samples[i] = (struct ff_sample){
			.thread = of[c->each[i].thread], .spread_thread = c->each[i].thread, .i = (uint32_t)i,
			.time = time > d->start ? time - d->start : 0, .samples = 1, .period = c->each[i].period,
		};
	}
}

static void take_blocks(struct document *d, const uint32_t *of)
{
	const struct collect *c = d->in->col;

	for (size_t i = 0; i < c->spread.ncounts; i++) {
		const struct thread_times_count *sc = &c->spread.counts[i];
		const struct thread_times_slot *slot = &c->spread.slots[sc->slot];

		d->samples[i] = (struct ff_sample){
			.thread = of[slot->thread], .spread_thread = slot->thread, .i = (uint32_t)i,
			.time = slot->block * c->opts.block_ns, .samples = sc->samples, .period = sc->period,
		};
		d->stacks[i] = sc->node;
	}
}

/* Also sets d->stacks, as nodes of the tree. */
static void make_samples(struct document *d)
{
	const struct collect *c = d->in->col;
	uint32_t *of = make_threads(d);

	d->nsamples = d->waits ? c->spread.ncounts : c->neach;
	d->samples = xcalloc(d->nsamples + 1, sizeof(*d->samples));
	d->stacks = d->waits ? xcalloc(d->nsamples + 1, sizeof(*d->stacks)) : collect_each_nodes(c);
	if (d->waits)
		take_blocks(d, of);
	else
		take_each(d, of);
	/* The file is in order of time, except for records that came late. */
	qsort(d->samples, d->nsamples, sizeof(*d->samples), by_thread_and_time);
	free(of);
}

/* ---- samples ---- */

/*
 * A row of a samples table. The profiler assumes that a sample's stack lasts until the next row,
 * and that its CPU time was spent since the previous row.
 */
struct row {
	uint64_t time;		/* ns since the start */
	uint32_t stack;		/* FIREFOX_NO_STACK: none */
	uint64_t weight;	/* samples, or events */
	uint64_t cpu;		/* ns */
};

struct rows {
	struct row *v;		/* owned */
	size_t n, cap;
};

static void add_row(struct rows *r, const struct row *row)
{
	XGROW(r->v, r->n, r->cap);
	r->v[r->n++] = *row;
}

/*
 * Makes the rows of one thread, samples [@from, @to). With a clock event, each sample stands for
 * the CPU time right before it. If two samples are further apart than both their periods, the
 * thread was off the CPU in between. Two rows without a stack show that: one period after the first
 * sample, and one period before the second.
 */
static void make_rows(const struct document *d, size_t from, size_t to, struct rows *rows)
{
	rows->n = 0;
	for (size_t i = from; i < to; i++) {
		const struct ff_sample *s = &d->samples[i];
		const uint64_t period = s->period;
		const uint64_t before = i > from ? s[-1].period : 0, gone = i > from ? s->time - s[-1].time : 0;
		const struct row row = { s->time, d->stacks[s->i], d->in->period ? MAX(period, 1ull) : 1, period };

		if (d->clock && gone > before && gone - before > period) {
			struct row gap = { s[-1].time + before, FIREFOX_NO_STACK, 0, 0 };

			add_row(rows, &gap);
			gap.time = s->time - period;
			add_row(rows, &gap);
		}
		add_row(rows, &row);
	}
}

/*
 * The same for waits. Those of a block follow each other, and what they leave of it has no stack. Waits
 * with samples stand for others, so together they may be longer than the block: then they share it.
 */
static void make_wait_rows(const struct document *d, size_t from, size_t to, struct rows *rows)
{
	const uint64_t block_ns = d->in->col->opts.block_ns;

	rows->n = 0;
	for (size_t next; from < to; from = next) {
		const uint64_t begin = d->samples[from].time;
		uint64_t all = 0, done = 0;

		for (next = from; next < to && d->samples[next].time == begin; next++)
			all += d->samples[next].period;
		for (size_t i = from; i < next; i++) {
			const struct ff_sample *s = &d->samples[i];
			const uint64_t at = all > block_ns ? (uint64_t)((unsigned __int128)done * block_ns / all) : done;

			add_row(rows, &(struct row){ begin + at, d->stacks[s->i], d->in->period ? s->period : s->samples, 0 });
			done += s->period;
		}
		if (all < block_ns)
			add_row(rows, &(struct row){ begin + all, FIREFOX_NO_STACK, 0, 0 });
	}
}

/* @ms: weights are ns, and are written as ms. */
static void put_rows(struct json *j, const struct rows *rows, bool clock, bool ms)
{
	json_begin_object(j, "samples");
	json_begin_array(j, "stack");
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].stack == FIREFOX_NO_STACK)
			json_null(j, NULL);
		else
			json_u64(j, NULL, rows->v[i].stack);
	}
	json_end_array(j);
	json_begin_array(j, "time");
	for (size_t i = 0; i < rows->n; i++)
		json_double(j, NULL, (double)rows->v[i].time / NS_PER_MS);
	json_end_array(j);
	json_begin_array(j, "weight");
	for (size_t i = 0; i < rows->n; i++)
		if (ms)
			json_double(j, NULL, (double)rows->v[i].weight / NS_PER_MS);
		else
			json_u64(j, NULL, rows->v[i].weight);
	json_end_array(j);
	json_str(j, "weightType", ms ? "tracing-ms" : "samples");
	if (clock) {
		json_begin_array(j, "threadCPUDelta");
		for (size_t i = 0; i < rows->n; i++)
			json_u64(j, NULL, rows->v[i].cpu);
		json_end_array(j);
	}
	json_u64(j, "length", rows->n);
	json_end_object(j);
}

/* ---- threads ---- */

static void put_number(struct json *j, const char *key, int32_t number, uint32_t turn)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%" PRId32, number);
	if (turn)
		strbuf_addf(&sb, ".%" PRIu32, turn);
	json_str(j, key, sb.s);
	strbuf_fini(&sb);
}

static void put_names(struct json *j, const struct document *d, const struct ff_thread *ft)
{
	const struct intern *texts = d->in->col->texts;
	const struct profile_thread *t = ft->t;
	const char *comm = t->comm ? intern_str(texts, t->comm) : d->nthreads ? "[no_name]" : "[no_samples]";
	struct strbuf name = STRBUF_INIT;

	strbuf_adds(&name, t->process ? intern_str(texts, t->process) : comm);
	if (t->container)
		strbuf_addf(&name, " (%s)", intern_str(texts, t->container));
	json_str(j, "name", comm);
	json_str(j, "processName", name.s);
	json_bool(j, "isMainThread", t->pid == t->tid);
	put_number(j, "pid", t->pid, ft->pid_turn);
	if (t->tid == PROFILE_TID_MERGED)
		json_str(j, "tid", comm);
	else
		put_number(j, "tid", t->tid, ft->tid_turn);
	strbuf_fini(&name);
}

static void put_no_markers(struct json *j)
{
	static const char *const columns[] = { "data", "name", "startTime", "endTime", "phase", "category" };

	json_begin_object(j, "markers");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		json_begin_array(j, columns[i]);
		json_end_array(j);
	}
	json_u64(j, "length", 0);
	json_end_object(j);
}

static void put_thread(const struct document *d, const struct ff_thread *ft, const struct rows *rows)
{
	struct json *j = d->j;

	json_begin_object(j, NULL);
	put_names(j, d, ft);
	json_str(j, "processType", "default");
	/* Its start and end are unknown: use those of the recording. */
	json_u64(j, "processStartupTime", 0);
	json_null(j, "processShutdownTime");
	json_u64(j, "registerTime", 0);
	json_null(j, "unregisterTime");
	json_begin_array(j, "pausedRanges");
	json_end_array(j);
	put_rows(j, rows, d->clock, d->waits && d->in->period);
	put_no_markers(j);
	json_end_object(j);
}

static void put_threads(const struct document *d)
{
	const struct profile_thread nobody = { 0 };
	const size_t n = d->nsamples;
	struct rows rows = { 0 };
	struct ff_thread ft;

	json_begin_array(d->j, "threads");
	/* The profiler rejects a profile without threads. */
	if (!n)
		put_thread(d, &(struct ff_thread){ .t = &nobody }, &rows);
	for (size_t from = 0, i = 1; from < n; from = i++) {
		while (i < n && d->samples[i].thread == d->samples[from].thread)
			i++;
		if (d->waits)
			make_wait_rows(d, from, i, &rows);
		else
			make_rows(d, from, i, &rows);
		ft = d->threads[d->samples[from].thread];
		ft.t = &d->in->col->spread.threads[d->samples[i - 1].spread_thread];
		put_thread(d, &ft, &rows);
	}
	json_end_array(d->j);
	free(rows.v);
}

/* ---- facts about the recording ---- */

static void put_entry(struct json *j, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	json_begin_object(j, NULL);
	json_str(j, "label", label);
	json_str(j, "format", "string");
	json_bytes(j, "value", value);
	json_end_object(j);
}

/* The profiler shows this as it is, after its own facts. */
static void put_extra(const struct document *d)
{
	static const char *const keys[][2] = {
		{ "Host", "hostname" }, { "Kernel", "kernel" }, { "Target", "target" }, { "Recorded with", "cmdline" },
	};
	struct strbuf sb = STRBUF_INIT;
	struct ev_ledger led;

	json_begin_array(d->j, "extra");
	json_begin_object(d->j, NULL);
	json_str(d->j, "label", "Recording");
	json_begin_array(d->j, "entries");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (i == ARRAY_SIZE(keys) - 1)
			put_entry(d->j, "Event", d->in->event->name);
		put_entry(d->j, keys[i][0], info(d, keys[i][1]));
	}
	if (rec_reader_ledger(d->in->reader, &led)) {
		ledger_sums_text(&led, &sb);
		ledger_sums_absences(&led, &sb);
		put_entry(d->j, "Not in it", sb.s);
	}
	json_end_array(d->j);
	json_end_object(d->j);
	json_end_array(d->j);
	strbuf_fini(&sb);
}

/* Distance between samples of a running thread, ms. */
static double interval(const struct document *d)
{
	const uint64_t hz = d->in->event->freq, fixed = hz ? 0 : d->in->event->period;

	if (d->waits)
		return (double)d->in->col->opts.block_ns / NS_PER_MS;
	if (d->clock && fixed)
		return (double)fixed / NS_PER_MS;
	return hz ? 1000.0 / (double)hz : 1.0;
}

static void put_meta(const struct document *d)
{
	struct json *j = d->j;
	const uint64_t cpus = strtoull(info(d, "ncpus"), NULL, 10);
	uint64_t last = 0;

	for (size_t i = 0; i < d->nsamples; i++)
		last = MAX(last, d->samples[i].time);
	json_begin_object(j, "meta");
	json_u64(j, "version", GECKO_VERSION);
	json_u64(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_bytes(j, "product", *info(d, "cmdline") ? info(d, "cmdline") : "nsprof");
	json_str(j, "importedFrom", "nsprof " NSPROF_VERSION);
	json_double(j, "interval", interval(d));
	json_double(j, "startTime", (double)strtoull(info(d, "start_wall_ns"), NULL, 10) / NS_PER_MS);
	json_u64(j, "profilingStartTime", 0);
	/*
	 * The last sample must also have a duration: the profiler cannot show a recording of no
	 * time.
	 */
	json_double(j, "profilingEndTime", (double)last / NS_PER_MS + interval(d));
	json_u64(j, "processType", 0);
	json_u64(j, "stackwalk", 1);
	if (cpus)
		json_u64(j, "logicalCPUs", cpus);
	json_bool(j, "symbolicated", true);
	json_bool(j, "usesOnlyOneStackType", true);
	json_bool(j, "sourceCodeIsNotOnSearchfox", true);
	if (d->clock) {
		json_begin_object(j, "sampleUnits");
		json_str(j, "time", "ms");
		json_str(j, "eventDelay", "ms");
		json_str(j, "threadCPUDelta", "ns");
		json_end_object(j);
	}
	json_begin_array(j, "markerSchema");
	json_end_array(j);
	firefox_put_categories(j);
	put_extra(d);
	json_end_object(j);
}

void to_firefox(const struct to_firefox *in, FILE *to)
{
	struct document d = {
		.in = in, .j = json_new(to), .start = rec_reader_start(in->reader), .waits = !in->col->opts.each,
	};

	d.clock = rec_events_is_clock(in->event) && !d.waits;
	make_samples(&d);
	firefox_tables_init(&d.tables, in->col, in->nm, d.stacks, d.nsamples);
	json_begin_object(d.j, NULL);
	put_meta(&d);
	firefox_put_tables(d.j, &d.tables, info(&d, "arch"));
	put_threads(&d);
	json_end_object(d.j);
	json_free(d.j);
	firefox_tables_fini(&d.tables);
	free(d.stacks);
	free(d.threads);
	free(d.samples);
}
