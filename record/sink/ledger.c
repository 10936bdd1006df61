#include "sink/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "events/open.h"
#include "recording.h"
#include "recording/ledger_sums.h"

/*
 * A throttled event stands still until the next tick of its CPU (perf_adjust_freq_unthr_events()).
 * If its thread leaves the CPU meanwhile, it reports again only when the thread comes back
 * (event_sched_in()). The time between is not throttling: at most a tick counts, at the lowest HZ
 * there is. On an idle CPU without a tick, an event of the CPU may stand still for longer.
 */
#define TICK_MAX_NS 10000000ull

/* Events that ended while throttled stay in the map: at most this many. */
#define STANDING_MAX 65536

void ledger_begin(struct ledger *lg, struct rec_writer *w, bool clock, bool tasks)
{
	second_counts_init(&lg->tally, w);
	lg->standing_max = tasks ? TICK_MAX_NS : UINT64_MAX;
	lg->first.period_min = clock ? CLOCK_PERIOD_MIN : 0;
}

void ledger_events(struct ledger *lg, const bool *clock, uint32_t n)
{
	if (n < 2)
		return;
	second_counts_events(&lg->tally, n - 1);
	lg->more = xcalloc(n - 1, sizeof(*lg->more));
	for (uint32_t i = 0; i < n; i++)
		ledger_event(lg, i)->period_min = clock[i] ? CLOCK_PERIOD_MIN : 0;
}

void ledger_fini(struct ledger *lg)
{
	second_counts_fini(&lg->tally);
	u64map_fini(&lg->standing);
	u64map_fini(&lg->standing_cpu);
	u64map_fini(&lg->standing_event);
	free(lg->more);
	free(lg->counted);
}

void ledger_sample(struct ledger *lg, enum ledger_what what, const struct sample_in *in)
{
	struct ev_tally *row = second_counts_at(&lg->tally, in->cpu, in->time);
	struct ev_counts *sum = &second_counts_event(&lg->tally, second_counts_cpu(&lg->tally, in->cpu), in->event)->sum;
	uint64_t period = ledger_period(lg, in);

	switch (what) {
	case LEDGER_KEPT:
		row->kept++;
		lg->l.kept++;
		break;
	case LEDGER_CUT:
		row->cut++;
		lg->l.cut++;
		break;
	case LEDGER_DROPPED:
		row->dropped++;
		lg->l.dropped++;
		break;
	case LEDGER_OWN:
		row->own++;
		lg->l.own++;
		break;
	}
	sum->samples++;
	sum->periods += period;
	lg->l.periods += period;
}

/* How many of @n losses in a record are in no ledger yet: @ahead of them are in the one before. */
static uint64_t untold(uint64_t *ahead, uint64_t n)
{
	uint64_t known = MIN(*ahead, n);

	*ahead -= known;
	return n - known;
}

void ledger_lost(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t time, uint64_t n)
{
	struct second_counts_cpu *c = second_counts_cpu(&lg->tally, cpu);

	n = untold(&c->lost_ahead, n);
	second_counts_event(&lg->tally, c, event)->sum.lost += n;
	second_counts_at(&lg->tally, cpu, time)->lost += n;
	lg->lost_told += n;
}

uint64_t ledger_missed(const struct ledger *lg)
{
	return lg->lost_told + lg->l.dropped + lg->l.cut;
}

void ledger_lost_pmu(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t time, uint64_t n)
{
	second_counts_at(&lg->tally, cpu, time)->lost += n;
	second_counts_event(&lg->tally, second_counts_cpu(&lg->tally, cpu), event)->lost_pmu += n;
	lg->lost_pmu += n;
}

void ledger_lost_side(struct ledger *lg, uint32_t cpu, uint64_t time, uint64_t n)
{
	n = untold(&second_counts_cpu(&lg->tally, cpu)->side_ahead, n);
	second_counts_at(&lg->tally, cpu, time)->side_lost += n;
	second_counts_cpu(&lg->tally, cpu)->side_told += n;
	lg->side_told += n;
}

static struct ev_counts *counts_of(struct ledger *lg, uint32_t cpu, uint32_t event)
{
	return &second_counts_event(&lg->tally, second_counts_cpu(&lg->tally, cpu), event)->sum;
}

static void stood(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t since, uint64_t until)
{
	uint64_t ns = until > since ? MIN(until - since, lg->standing_max) : 0;

	second_counts_at(&lg->tally, cpu, until)->throttled_ns += ns;
	counts_of(lg, cpu, event)->throttled_ns += ns;
	lg->l.throttled_ns += ns;
}

static void forget_standing(struct ledger *lg)
{
	u64map_clear(&lg->standing);
	u64map_clear(&lg->standing_cpu);
	u64map_clear(&lg->standing_event);
}

void ledger_throttle(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t time, uint64_t id, bool on)
{
	uint64_t *since;

	if (on) {
		second_counts_at(&lg->tally, cpu, time)->throttled++;
		counts_of(lg, cpu, event)->throttled++;
		lg->l.throttled++;
		if (lg->standing.n >= STANDING_MAX)
			forget_standing(lg);
		*u64map_put(&lg->standing, id, NULL) = time;
		*u64map_put(&lg->standing_cpu, id, NULL) = cpu;
		*u64map_put(&lg->standing_event, id, NULL) = event;
		return;
	}
	since = u64map_get(&lg->standing, id);
	if (!since)		/* the record of its beginning was lost */
		return;
	stood(lg, cpu, event, *since, time);
	u64map_del(&lg->standing, id);
	u64map_del(&lg->standing_cpu, id);
	u64map_del(&lg->standing_event, id);
}

/* Events that were throttled when they were stopped: no record reports the end of that. */
static void stood_to_the_end(struct ledger *lg, uint64_t stopped)
{
	uint64_t id, since;
	size_t it = 0;

	while (u64map_next(&lg->standing, &it, &id, &since))
		stood(lg, (uint32_t)*u64map_get(&lg->standing_cpu, id), (uint32_t)*u64map_get(&lg->standing_event, id), since, stopped);
	forget_standing(lg);
}

static uint64_t rounded(double samples)
{
	/* Counts of a damaged perf.data may be anything. */
	return samples < 1e18 ? (uint64_t)(samples + 0.5) : UINT64_MAX / 2;
}

/*
 * Estimates what throttled events would have taken meanwhile. With a clock, a period is a time.
 * Otherwise the rate at which samples were taken while events ran (@ran_ns in all) stands for the
 * rest.
 */
static uint64_t estimate_throttled(const struct ledger_event *of, const struct ev_counts *sum, uint64_t ran_ns)
{
	double ns = (double)sum->throttled_ns;

	if (!sum->samples || !sum->throttled_ns)
		return 0;
	if (of->period_min)
		return sum->periods ? rounded(ns * (double)sum->samples / (double)sum->periods) : 0;
	if (ran_ns <= sum->throttled_ns)
		return 0;
	return rounded(ns * (double)(sum->samples + sum->lost) / ((double)ran_ns - ns));
}

/* Each CPU gets its share by time: together as many as the event. */
static void share_throttled(struct ledger *lg, uint32_t event, uint64_t samples, uint64_t all_ns)
{
	uint64_t ns = 0, given = 0;

	for (uint32_t i = 0; i < lg->tally.ncpu; i++) {
		struct ev_counts *c = counts_of(lg, i, event);
		uint64_t upto;

		ns += c->throttled_ns;
		upto = all_ns ? (uint64_t)((unsigned __int128)samples * ns / all_ns) : 0;
		c->throttled_samples = upto - given;
		given = upto;
	}
}

static uint64_t estimate_all_throttled(struct ledger *lg, uint64_t ran_ns)
{
	uint64_t estimate = 0, samples;

	for (uint32_t e = 0; e <= lg->tally.nmore; e++) {
		struct ev_counts sum = { 0 };

		for (size_t i = 0; i < lg->tally.ncpu; i++) {
			const struct ev_counts *c = &second_counts_event(&lg->tally, &lg->tally.cpu[i], e)->sum;

			sum.samples += c->samples;
			sum.periods += c->periods;
			sum.lost += c->lost;
			sum.throttled_ns += c->throttled_ns;
		}
		samples = estimate_throttled(ledger_event(lg, e), &sum, ran_ns);
		share_throttled(lg, e, samples, sum.throttled_ns);
		estimate += samples;
	}
	return estimate;
}

/*
 * If there is no room for a record, the kernel counts it at the event that wanted to write it (or
 * at the one that it was inherited from), and at the ring: __perf_output_begin() in
 * kernel/events/ring_buffer.c. It writes the ring's count as PERF_RECORD_LOST before the next
 * record that fits. Only the event shows what is lost after the last record. The same holds for
 * losses not reported yet when a file or a segment ends: the next record reports them, and the next
 * ledger must not count them again.
 */
static void settle_cpu(struct ledger *lg, uint32_t cpu, const struct events_count *k, size_t stride, bool has_lost,
		       uint64_t stopped)
{
	struct second_counts_cpu *c = second_counts_cpu(&lg->tally, cpu);
	uint64_t told = 0, known = 0, lost, side = c->side_told;

	for (uint32_t e = 0; e <= lg->tally.nmore; e++) {
		told += second_counts_event(&lg->tally, c, e)->sum.lost;
		known += k[e * stride].lost;
	}
	lost = has_lost ? MAX(known, told) : told;
	if (has_lost)
		side = MAX(k->side_lost, side);
	if (lost > told)
		second_counts_at(&lg->tally, cpu, stopped)->lost += lost - told;
	if (side > c->side_told)
		second_counts_at(&lg->tally, cpu, stopped)->side_lost += side - c->side_told;
	c->lost_ahead += lost - told;
	c->side_ahead += side - c->side_told;
	for (uint32_t e = 0; e <= lg->tally.nmore; e++) {
		struct second_counts_event *ec = second_counts_event(&lg->tally, c, e);
		const struct events_count *ke = &k[e * stride];

		/* What records tell of more than the events know is of none in particular. */
		if (has_lost)
			ec->sum.lost = ke->lost + (e ? 0 : lost - known);
		ec->sum.lost += ec->lost_pmu;
		ec->sum.events = ke->events;
		ec->sum.count = ke->count;
		ec->sum.enabled = ke->enabled;
		ec->sum.running = ke->running;
		lg->l.lost_kernel += ec->sum.lost;
		lg->l.count += ke->count;
	}
	lg->l.lost_sideband += side;
}

/* Fills @k with what the kernel counted since the last cut. False as events_counts(). */
static bool count_since(struct ledger *lg, const struct events *ev, struct events_count *k)
{
	const size_t n = ev->target->nall * ev->n;
	struct events_count *now = xcalloc(n + 1, sizeof(*now));
	bool all = events_counts(ev, now);

	for (size_t i = 0; i < n; i++) {
		const struct events_count none = { 0 }, *was = lg->counted ? &lg->counted[i] : &none;

		k[i].events = now[i].events;
		k[i].count = now[i].count - was->count;
		k[i].enabled = now[i].enabled - was->enabled;
		k[i].running = now[i].running - was->running;
		k[i].lost = now[i].lost - was->lost;
		k[i].side_lost = now[i].side_lost - was->side_lost;
		k[i].switch_lost = now[i].switch_lost - was->switch_lost;
		k[i].wakeup_lost = now[i].wakeup_lost - was->wakeup_lost;
	}
	free(lg->counted);
	lg->counted = now;
	return all;
}

static void settle(struct ledger *lg, const struct events *ev, uint64_t stopped,
		   uint64_t elapsed_ns)
{
	const struct target *t = ev->target;
	struct events_count *k = xcalloc(t->nall * ev->n + 1, sizeof(*k));
	uint64_t switch_lost = 0, wakeup_lost = 0;

	lg->l.have_format_lost = ev->feats & FEAT_FORMAT_LOST;
	lg->l.have_count = count_since(lg, ev, k);
	lg->l.exact = lg->l.have_count && ev->n == 1 && evsel_counts_each(events_first(ev)) && !ev->v[0].weighed &&
		      ev->v[0].now == 1;
	lg->l.lost_kernel = lg->l.lost_sideband = lg->l.count = 0;
	for (uint32_t i = 0; i < t->nall; i++) {
		switch_lost += k[i].switch_lost;
		wakeup_lost += k[i].wakeup_lost;
	}
	lg->l.lost_switches = MAX(lg->switches_told, switch_lost);
	lg->l.lost_wakeups = MAX(lg->wakeups_told, wakeup_lost);
	/* CPUs that are not sampled can only have losses. */
	for (uint32_t i = 0; i < t->nall; i++)
		if (i < t->ncpus || k[i].side_lost)
			settle_cpu(lg, t->cpus[i], &k[i], t->nall, lg->l.have_format_lost, stopped);
	lg->l.throttled_samples = estimate_all_throttled(lg, elapsed_ns * t->ncpus);
	/* The sums over several events have no unit. Each event has its own, in COUNTS. */
	if (ev->n > 1)
		lg->l.count = lg->l.periods = 0;
	free(k);
}

/* Pool and pressure add up over the whole run; the peak stays. */
static void take_run_counts(struct ledger *lg, struct ev_ledger *l)
{
	l->pool_waits -= lg->before.pool_waits;
	for (unsigned int i = 0; i < PRESSURE_LEVELS; i++) {
		l->pressure_n[i] -= lg->before.pressure_n[i];
		l->pressure_ns[i] -= lg->before.pressure_ns[i];
	}
	lg->before = lg->l;
}

void ledger_cut(struct ledger *lg, const struct events *ev, uint64_t stopped, uint64_t elapsed_ns,
		bool last, struct ledger_part *part)
{
	struct second_counts *t = &lg->tally;

	if (last)
		stood_to_the_end(lg, stopped);
	settle(lg, ev, stopped, elapsed_ns);
	*part = (struct ledger_part){ .l = lg->l, .start = t->start };
	/* Some of what the kernel counted is still in the rings, or was there at the last cut. */
	part->l.exact &= last && !lg->cut;
	lg->cut = true;
	take_run_counts(lg, &part->l);
	part->counts = xcalloc(t->ncpu * (t->nmore + 1) + 1, sizeof(*part->counts));
	for (uint32_t e = 0; e <= t->nmore; e++) {
		for (size_t i = 0; i < t->ncpu; i++) {
			const struct ev_counts *sum = &second_counts_event(t, &t->cpu[i], e)->sum;

			if (sum->events)
				part->counts[part->ncounts++] = *sum;
		}
	}
	part->rows = second_counts_take(t, &part->nrows);
	lg->l = (struct ev_ledger){ 0 };
	lg->lost_told = lg->lost_pmu = lg->side_told = lg->switches_told = lg->wakeups_told = 0;
}

/* With several events: what is known of each. The kernel's own counts are not. */
static int write_told_counts(const struct ledger *lg, struct rec_writer *w)
{
	const struct second_counts *t = &lg->tally;
	struct ev_counts *rows = NULL;
	size_t n = 0, cap = 0;
	int err;

	for (uint32_t e = 0; e <= t->nmore; e++) {
		for (size_t i = 0; i < t->ncpu; i++) {
			const struct second_counts_event *of = second_counts_event(t, &t->cpu[i], e);

			if (!of->sum.samples && !of->sum.lost && !of->lost_pmu && !of->sum.throttled)
				continue;
			XGROW(rows, n, cap);
			rows[n] = of->sum;
			rows[n++].lost += of->lost_pmu;
		}
	}
	err = t->nmore ? rec_writer_counts(w, rows, n) : 0;
	free(rows);
	return err;
}

int ledger_finish_told(struct ledger *lg, struct rec_writer *w, uint64_t stopped)
{
	uint64_t ncpus = 0;
	int err;

	stood_to_the_end(lg, stopped);
	err = second_counts_flush(&lg->tally);
	for (size_t i = 0; i < lg->tally.ncpu; i++)
		ncpus += lg->tally.cpu[i].first.sum.samples > 0;
	lg->l.throttled_samples = estimate_all_throttled(lg, stopped > lg->tally.start ? (stopped - lg->tally.start) * ncpus : 0);
	lg->l.lost_kernel = lg->lost_told + lg->lost_pmu;
	lg->l.lost_sideband = lg->side_told;
	if (!err)
		err = write_told_counts(lg, w);
	return err ? err : rec_writer_ledger(w, &lg->l);
}

void ledger_restart(struct ledger *lg, uint64_t start)
{
	lg->tally.start = start;
}

/* ---- parts ---- */

/* Moves second 0 of @rows from @from to @to, ns. */
static void rebase(struct ev_tally *rows, size_t n, uint64_t from, uint64_t to)
{
	const uint64_t second = 1000000000;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = from + rows[i].second * second;

		rows[i].second = at > to ? (at - to) / second : 0;
	}
}

static void add_ledger(struct ev_ledger *sum, const struct ev_ledger *l, bool first)
{
	sum->kept += l->kept;
	sum->lost_kernel += l->lost_kernel;
	sum->lost_sideband += l->lost_sideband;
	sum->dropped += l->dropped;
	sum->throttled += l->throttled;
	sum->unordered += l->unordered;
	sum->maps_unknown += l->maps_unknown;
	sum->copy_full += l->copy_full;
	sum->cut += l->cut;
	sum->own += l->own;
	sum->throttled_ns += l->throttled_ns;
	sum->throttled_samples += l->throttled_samples;
	sum->count += l->count;
	sum->periods += l->periods;
	sum->pool_waits += l->pool_waits;
	sum->pool_peak = MAX(sum->pool_peak, l->pool_peak);
	for (unsigned int i = 0; i < PRESSURE_LEVELS; i++) {
		sum->pressure_n[i] += l->pressure_n[i];
		sum->pressure_ns[i] += l->pressure_ns[i];
	}
	sum->cpus_away = MAX(sum->cpus_away, l->cpus_away);
	sum->cgroups_gone += l->cgroups_gone;
	sum->withheld += l->withheld;
	sum->unread = MAX(sum->unread, l->unread);
	sum->switches += l->switches;
	sum->lost_switches += l->lost_switches;
	sum->wakeups += l->wakeups;
	sum->lost_wakeups += l->lost_wakeups;
	sum->have_format_lost = (first || sum->have_format_lost) && l->have_format_lost;
	sum->have_count = (first || sum->have_count) && l->have_count;
	sum->exact = first && l->exact;
}

static void add_counts(struct ledger_part *sum, const struct ev_counts *c)
{
	struct ev_counts *to = sum->counts, *end = to + sum->ncounts;

	while (to < end && (to->cpu != c->cpu || to->event != c->event))
		to++;
	if (to == end) {
		sum->counts = xrealloc(sum->counts, (sum->ncounts + 1) * sizeof(*c));
		sum->counts[sum->ncounts++] = *c;
		return;
	}
	to->count += c->count;
	to->samples += c->samples;
	to->periods += c->periods;
	to->lost += c->lost;
	to->enabled += c->enabled;
	to->running += c->running;
	to->throttled += c->throttled;
	to->throttled_ns += c->throttled_ns;
	to->throttled_samples += c->throttled_samples;
}

void ledger_part_add(struct ledger_part *sum, const struct ledger_part *part)
{
	const bool first = !sum->start;

	if (first)
		sum->start = part->start;
	add_ledger(&sum->l, &part->l, first);
	for (size_t i = 0; i < part->ncounts; i++)
		add_counts(sum, &part->counts[i]);
	sum->rows = xrealloc(sum->rows, (sum->nrows + part->nrows + 1) * sizeof(*sum->rows));
	if (part->nrows)
		memcpy(sum->rows + sum->nrows, part->rows, part->nrows * sizeof(*part->rows));
	rebase(sum->rows + sum->nrows, part->nrows, part->start, sum->start);
	sum->nrows += part->nrows;
}

int ledger_part_write(const struct ledger_part *part, struct rec_writer *w, struct rec_out *out,
		      uint64_t start)
{
	int err = 0;

	rebase(part->rows, part->nrows, part->start, start);
	for (size_t i = 0; i < part->nrows && !err; i += REC_TABLE_ROWS) {
		size_t n = MIN(part->nrows - i, (size_t)REC_TABLE_ROWS);

		err = out ? rec_out_tally(w, out, part->rows + i, n) :
			    rec_writer_tally(w, part->rows + i, n);
	}
	if (!err)
		err = out ? rec_out_counts(w, out, part->counts, part->ncounts) :
			    rec_writer_counts(w, part->counts, part->ncounts);
	if (err)
		return err;
	return out ? rec_out_ledger(w, out, &part->l) : rec_writer_ledger(w, &part->l);
}

void ledger_part_fini(struct ledger_part *part)
{
	free(part->counts);
	free(part->rows);
	*part = (struct ledger_part){ 0 };
}
