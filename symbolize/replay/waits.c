/* Matches samples with waits, and adds them up (waits.h). waits_weigh.c makes the result. */
#include "replay/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "replay/waits_priv.h"

/*
 * A sample is taken microseconds before the switch it belongs to, with interrupts off. If it is
 * older than this, the switch was lost.
 */
#define NEAR_NS UINT64_C(1000000)
#define PENDING_MAX (1u << 20)	/* samples that wait for their switch */
#define NONE UINT32_MAX

/* A sample that waits for the next switch of its thread. */
struct pending {
	uint64_t time, weight;
	uint32_t stack, thread;
	uint32_t next;		/* of the same thread, newer; NONE: last */
	bool running;
};

static struct wait_life *life_at(struct waits *w, uint32_t i)
{
	while (w->nlives <= i) {
		XGROW(w->lives, w->nlives, w->lives_cap);
		w->lives[w->nlives++] = (struct wait_life){ 0 };
	}
	return &w->lives[i];
}

static uint32_t length_class(uint64_t ns)
{
	unsigned int octave;

	if (ns < 4)
		return (uint32_t)ns;
	octave = 63 - (unsigned int)__builtin_clzll(ns);
	return octave * WAITS_PER_OCTAVE + (uint32_t)(ns >> (octave - 2) & 3);
}

static uint32_t stratum_of(struct waits *w, uint32_t life, enum wait_kind kind, uint32_t length)
{
	bool is_new;
	uint64_t *at = u64map_put(&w->stratum_index, WAITS_STRATUM_KEY(life, kind, length), &is_new);

	if (is_new) {
		*at = w->nstrata;
		XGROW(w->strata, w->nstrata, w->strata_cap);
		w->strata[w->nstrata++] = (struct wait_stratum){ .life = life, .kind = (uint8_t)kind, .length = (uint16_t)length };
	}
	return (uint32_t)*at;
}

void waits_add_row(struct waits *w, const struct wait_row *row)
{
	const uint64_t own = row->is_long ? row->first : 0;
	uint64_t hash = hash_combine(hash_combine((uint64_t)row->stratum << 32 | row->stack, row->thread), own);

	/* Try the next hash if another row has this one. */
	for (;; hash++) {
		bool is_new;
		uint64_t *at = u64map_put(&w->row_index, hash, &is_new);
		struct wait_row *old;

		if (is_new) {
			*at = w->nrows;
			XGROW(w->rows, w->nrows, w->rows_cap);
			w->rows[w->nrows++] = *row;
			return;
		}
		old = &w->rows[*at];
		if (old->stratum != row->stratum || old->stack != row->stack || old->thread != row->thread ||
		    old->is_long != row->is_long || (row->is_long && old->first != row->first))
			continue;
		if (row->first < old->first) {
			old->first = row->first;
			old->from = row->from;
			old->to = row->to;
		}
		old->n += row->n;
		old->ns += row->ns;
		old->queued_ns += row->queued_ns;
		return;
	}
}

/* ---- samples ---- */

static uint32_t take_slot(struct waits *w)
{
	uint32_t at = w->free_pending;

	if (at != NONE) {
		w->free_pending = w->pending[at].next;
		return at;
	}
	XGROW(w->pending, w->npending, w->pending_cap);
	return (uint32_t)w->npending++;
}

void waits_sample(struct waits *w, const struct ev_sample *ev, bool running, uint32_t stack, uint32_t thread,
		  uint64_t weight)
{
	const uint64_t key = (uint64_t)ev->pid << 32 | ev->tid;
	uint64_t *ends;
	uint32_t at;
	bool is_new;

	if (!ev->pid || !ev->tid)
		return;
	if (w->waiting >= PENDING_MAX) {
		w->counts.dropped++;
		return;
	}
	w->waiting++;
	at = take_slot(w);
	w->pending[at] = (struct pending){ ev->time, weight, stack, thread, NONE, running };
	ends = u64map_put(&w->pending_of, key, &is_new);
	if (is_new) {
		*ends = (uint64_t)at << 32 | at;
	} else {
		w->pending[(uint32_t)*ends].next = at;
		*ends = (*ends & ~(uint64_t)UINT32_MAX) | at;
	}
}

static uint64_t wanted(const struct waits *w, uint64_t from, uint64_t to)
{
	return w->opts.within ? w->opts.within(w->opts.ctx, from, to) : to - from;
}

static void ran(struct waits *w, uint32_t life, const struct pending *p)
{
	const struct wait_row row = {
		.stratum = stratum_of(w, life, WAIT_RUNNING, 0), .stack = p->stack, .thread = p->thread,
		.first = p->time, .n = 1, .ns = p->weight, .from = p->time, .to = p->time,
	};

	w->strata[row.stratum].n++;
	waits_add_row(w, &row);
}

/*
 * Takes the samples of a thread up to the end of a spell. Those of a running thread are counted, and
 * the one that it gave as it left the CPU is kept for the wait that begins.
 */
static void take_samples(struct waits *w, const struct cpu_thread *th, const struct cpu_spell *s)
{
	const uint64_t key = (uint64_t)th->pid << 32 | th->tid;
	uint64_t *ends = u64map_get(&w->pending_of, key);
	struct wait_life *l = life_at(w, s->thread);
	uint32_t at, last;

	if (!ends)
		return;
	at = (uint32_t)(*ends >> 32);
	last = (uint32_t)*ends;
	while (at != NONE && w->pending[at].time <= s->to) {
		struct pending *p = &w->pending[at];
		const uint32_t next = p->next;
		const bool runs = s->state == CPU_ON || s->state == CPU_GAP;
		const bool fits = runs && p->time >= s->from;
		/* A thread that comes into the target while it runs begins as it leaves, after its sample. */
		const bool leaves = runs && (fits || s->from == th->begin) && s->to - p->time <= NEAR_NS;

		if (p->running && fits) {
			ran(w, s->thread, p);
		} else if (!p->running && leaves) {
			w->counts.unmatched += l->sampled;
			*l = (struct wait_life){ p->stack, p->thread, true, p->time };
		} else {
			w->counts.unmatched++;
		}
		p->next = w->free_pending;
		w->free_pending = at;
		w->waiting--;
		at = next;
	}
	if (at == NONE)
		u64map_del(&w->pending_of, key);
	else
		*ends = (uint64_t)at << 32 | last;
}

/* ---- waits ---- */

/* Spells of a thread come in order. */
static void spans(struct wait_stratum *st, const struct cpu_spell *s)
{
	if (!st->from)
		st->from = s->from;
	st->to = s->to;
}

static void count_wait(struct waits *w, const struct cpu_spell *s, enum wait_kind kind, uint64_t ns)
{
	const struct wait_life *l = life_at(w, s->thread);
	const uint64_t queued = s->waking ? wanted(w, s->waking, s->to) : 0, whole = s->to - s->from;
	const bool brief = whole < w->opts.brief_ns;
	const uint32_t at = stratum_of(w, s->thread, kind, brief ? WAITS_BRIEF : length_class(whole));
	struct wait_stratum *st = &w->strata[at];
	struct wait_row row = {
		.stratum = at, .stack = l->stack, .thread = l->thread, .first = l->sampled_at, .n = 1,
		.ns = ns, .queued_ns = queued, .from = s->from, .to = s->to,
	};

	st->n++;
	st->ns += ns;
	st->queued_ns += queued;
	spans(st, s);
	w->counts.waits++;
	if (!l->sampled)
		return;
	w->counts.sampled++;
	row.is_long = w->opts.long_ns && whole >= w->opts.long_ns;
	if (!brief)
		waits_add_row(w, &row);
	if (w->opts.closed && l->stack != WAITS_HIDDEN)
		w->opts.closed(w->opts.ctx, l->stack, whole);
}

/* The exact total of a kind that is not told apart by length. */
static void count_time(struct waits *w, uint32_t life, enum wait_kind kind, const struct cpu_spell *s, uint64_t ns)
{
	const uint32_t at = stratum_of(w, life, kind, 0);
	struct wait_stratum *st = &w->strata[at];

	st->n += kind != WAIT_RUNNING;
	st->ns += ns;
	st->queued_ns += s->waking ? wanted(w, s->waking, s->to) : 0;
	spans(st, s);
}

static void on_spell(void *ctx, const struct cpu_spell *s)
{
	struct waits *w = ctx;
	const uint64_t ns = wanted(w, s->from, s->to);
	struct wait_life *l = life_at(w, s->thread);
	size_t n;

	/* Only a sample from the end of this spell can belong to the next one. */
	if ((s->state == CPU_ON || s->state == CPU_GAP) && l->sampled) {
		w->counts.unmatched++;
		l->sampled = false;
	}
	take_samples(w, &cpu_times_threads(w->times, &n)[s->thread], s);
	switch (s->state) {
	case CPU_ON:
		if (ns && w->opts.running)
			count_time(w, s->thread, WAIT_RUNNING, s, ns);
		w->on_ns += ns;
		return;
	case CPU_BLOCKED:
	case CPU_PREEMPTED:
		if (ns && s->before)
			count_time(w, s->thread, WAIT_BEFORE, s, ns);
		else if (ns)
			count_wait(w, s, s->state == CPU_BLOCKED ? WAIT_BLOCKED : WAIT_PREEMPTED, ns);
		break;
	case CPU_STARTING:
		if (ns)
			count_time(w, s->thread, WAIT_STARTING, s, ns);
		break;
	case CPU_BEFORE:
		if (ns)
			count_time(w, s->thread, WAIT_BEFORE, s, ns);
		break;
	case CPU_GAP:
		return;
	case CPU_STATES:
		break;
	}
	l->sampled = false;
}

static void on_ended(void *ctx, uint32_t thread)
{
	struct waits *w = ctx;

	life_at(w, thread)->sampled = false;
	if (w->opts.ended)
		w->opts.ended(w->opts.ctx, thread);
}

/* ---- life cycle ---- */

static const struct cpu_times_ops times_ops = { .spell = on_spell, .ended = on_ended };

struct waits *waits_new(const struct waits_opts *opts)
{
	struct waits *w = xcalloc(1, sizeof(*w));

	w->opts = *opts;
	w->free_pending = NONE;
	w->times = cpu_times_new(opts->start, &times_ops, w);
	return w;
}

void waits_free(struct waits *w)
{
	if (!w)
		return;
	cpu_times_free(w->times);
	u64map_fini(&w->pending_of);
	u64map_fini(&w->stratum_index);
	u64map_fini(&w->row_index);
	free(w->pending);
	free(w->lives);
	free(w->strata);
	free(w->rows);
	free(w);
}

struct cpu_times *waits_times(struct waits *w)
{
	return w->times;
}

void waits_end(struct waits *w)
{
	cpu_times_end(w->times);
	/* What is left came after the last switch of its thread. */
	w->counts.unmatched += w->waiting;
	w->waiting = 0;
	w->npending = 0;
	w->free_pending = NONE;
	u64map_clear(&w->pending_of);
}

void waits_map(struct waits *w, void (*map)(void *ctx, uint32_t *stack, uint32_t *thread), void *ctx)
{
	struct wait_row *rows = w->rows;
	const size_t n = w->nrows;

	w->rows = NULL;
	w->nrows = w->rows_cap = 0;
	u64map_clear(&w->row_index);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].stack != WAITS_HIDDEN)
			map(ctx, &rows[i].stack, &rows[i].thread);
		waits_add_row(w, &rows[i]);
	}
	free(rows);
}

void waits_add(struct waits *to, const struct waits *from)
{
	for (size_t i = 0; i < from->nrows; i++) {
		const struct wait_stratum *st = &from->strata[from->rows[i].stratum];
		struct wait_row row = from->rows[i];

		row.stratum = stratum_of(to, st->life, (enum wait_kind)st->kind, st->length);
		/* All shares see all waits, but each has samples of its own. */
		if (st->kind == WAIT_RUNNING)
			to->strata[row.stratum].n += row.n;
		waits_add_row(to, &row);
	}
	to->counts.sampled += from->counts.sampled;
	to->counts.unmatched += from->counts.unmatched;
	to->counts.dropped += from->counts.dropped;
}

struct waits_counts waits_counts(const struct waits *w)
{
	return w->counts;
}

void waits_totals(const struct waits *w, uint64_t ns[WAIT_KINDS])
{
	memset(ns, 0, WAIT_KINDS * sizeof(*ns));
	for (size_t i = 0; i < w->nstrata; i++) {
		const struct wait_stratum *st = &w->strata[i];

		if (st->kind == WAIT_RUNNING)
			continue;
		ns[st->kind] += st->ns - st->queued_ns;
		ns[WAIT_QUEUED] += st->queued_ns;
	}
	ns[WAIT_RUNNING] = w->on_ns;
}
