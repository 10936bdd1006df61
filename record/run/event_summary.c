#include "run/event_summary.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"

/* Percent: an event that was on a counter for less of the time shared it with others. */
#define SHARED_PERCENT 99.0
/* With less of what it counted in its samples, percent, a clock's line says so. */
#define COVERED_PERCENT 90.0

static struct ev_counts sum_of(const struct ledger_part *part, size_t event)
{
	struct ev_counts sum = { 0 };

	for (size_t i = 0; i < part->ncounts; i++) {
		const struct ev_counts *c = &part->counts[i];

		if (c->event != event)
			continue;
		sum.samples += c->samples;
		sum.periods += c->periods;
		sum.lost += c->lost;
		sum.count += c->count;
		sum.enabled += c->enabled;
		sum.running += c->running;
		sum.throttled += c->throttled;
	}
	return sum;
}

size_t event_summary_counted(const struct events *ev, const struct ledger_part *part)
{
	size_t n = 0;

	for (size_t i = 0; i < ev->n; i++)
		n += sum_of(part, i).count != 0;
	return n;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* The lost samples are taken for average ones. */
static uint64_t stands_for(const struct ev_counts *c)
{
	const double mean = c->samples ? (double)c->periods / (double)c->samples : 0;

	return c->periods + (uint64_t)(mean * (double)c->lost);
}

static void add_count(const struct rec_event *e, const struct ev_counts *c, bool thinned, struct strbuf *out)
{
	if (!c->enabled || (!c->count && !c->samples))
		return;
	if (evsel_counts_each(&e->sel) && e->period == 1 && !e->weighed && !thinned && !e->member &&
	    !(e->sel.waits && e->sel.every)) {
		if (c->samples + c->lost == c->count)
			strbuf_adds(out, ", as many as the kernel counted");
		else
			strbuf_addf(out, ", but the kernel counted %" PRIu64, c->count);
		return;
	}
	/*
	 * What a thinned event lost was lost when its period was still short. While the kernel adapts
	 * the period of a software event, its sums are not the count (contrib/doc/kernel-quirks.md).
	 */
	if (!evsel_is_clock(&e->sel) && (e->period || evsel_is_hardware(&e->sel)))
		strbuf_addf(out, ", for %" PRIu64 " of %" PRIu64 " %s", thinned ? c->periods : stands_for(c), c->count,
			    e->weighed ? "ns" : "events");
	else if (evsel_is_clock(&e->sel) && !*evsel_modifier(&e->sel) && percent(stands_for(c), c->count) < COVERED_PERCENT)
		strbuf_addf(out, ", for %.1f %% of the CPU time that the kernel counted", percent(stands_for(c), c->count));
}

/*
 * Only counters of a PMU are shared. The events of a thread are enabled on all CPUs and run on one, so
 * there the times do not tell.
 */
static bool may_share(const struct events *ev, const struct rec_event *e)
{
	return evsel_is_hardware(&e->sel) && !target_is_tasks(ev->target);
}

static void add_share(const struct ev_counts *c, struct strbuf *out)
{
	if (c->enabled && !c->running)
		strbuf_adds(out, "; the PMU never had a free counter for it");
	else if (percent(c->running, c->enabled) < SHARED_PERCENT && c->enabled)
		strbuf_addf(out, "; it shared a counter and was counted for %.0f %% of the time: in all about %.0f events",
			    percent(c->running, c->enabled), (double)c->count * (double)c->enabled / (double)c->running);
}

static void print_event(const struct events *ev, size_t i, const struct ev_counts *c, const struct budget_event *b)
{
	const struct rec_event *e = &ev->v[i];
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%" PRIu64 " sample%s", c->samples, plural(c->samples));
	if (e->member)
		strbuf_addf(&text, " with those of '%s'", ev->v[e->sel.leader].sel.name);
	else if (c->lost)
		strbuf_addf(&text, ", %" PRIu64 " lost", c->lost);
	else
		strbuf_adds(&text, ", none lost");
	add_count(e, c, b && b->level_max, &text);
	if (c->throttled)
		strbuf_addf(&text, "; throttled %" PRIu64 " time%s", c->throttled, plural(c->throttled));
	if (may_share(ev, e))
		add_share(c, &text);
	pr_info("%s: %s", e->sel.name, text.s);
	strbuf_fini(&text);
}

static double since(uint64_t time, uint64_t began)
{
	return time > began ? (double)(time - began) / 1e9 : 0;
}

static void print_thinned(const struct events *ev, size_t i, const struct budget_event *b, uint64_t began)
{
	pr_warn("'%s' came more often than its budget of %.0f MB/s on a CPU allows: from %.1f s on, one sample stands for up to %llu events; "
		"use a larger --event-budget, a --filter, or a smaller --call-graph dwarf,SIZE", ev->v[i].sel.name, (double)events_budget(ev) / 1e6,
		since(b->first, began), (unsigned long long)ev->v[i].period << b->level_max);
}

/* One line about all of them. */
static void print_all_thinned(const struct events *ev, const struct sampled_events *se, size_t n, uint64_t began)
{
	uint64_t first = UINT64_MAX, most = 0;

	for (size_t i = 0; i < ev->n; i++) {
		const struct budget_event *b = &se->budget.ev[i];

		if (!b->level_max)
			continue;
		first = MIN(first, b->first);
		most = MAX(most, ev->v[i].period << b->level_max);
	}
	pr_warn("%zu events together came more often than their budget of %.0f MB/s on a CPU allows: from %.1f s on, one sample stands for up to %"
		PRIu64 " events ('nsprof info' has each); use a larger --event-budget, a --filter, or a smaller --call-graph dwarf,SIZE", n,
		(double)events_budget(ev) / 1e6, since(first, began), most);
}

/*
 * A pattern names hundreds of tracepoints, most of which never come. If there are more than these, they
 * share a line, and so do those that were thinned.
 */
#define LINES_MAX 4u

static bool is_quiet(const struct rec_event *e, const struct ev_counts *c)
{
	return e->sel.tracepoint && !c->samples && !c->lost && !c->count && !c->throttled;
}

void event_summary_print(const struct events *ev, const struct sampled_events *se, const struct ledger_part *counts, uint64_t began)
{
	size_t quiet = 0, thinned = 0;

	for (size_t i = 0; i < ev->n; i++) {
		const struct ev_counts sum = sum_of(counts, i);

		quiet += is_quiet(&ev->v[i], &sum);
		thinned += se && se->budget.ev[i].level_max;
	}
	for (size_t i = 0; i < ev->n; i++) {
		const struct budget_event *b = se ? &se->budget.ev[i] : NULL;
		const struct ev_counts sum = sum_of(counts, i);

		if (quiet > LINES_MAX && is_quiet(&ev->v[i], &sum))
			continue;
		if (ev->n > 1 || (b && b->level_max))
			print_event(ev, i, &sum, b);
		if (b && b->level_max && thinned <= LINES_MAX)
			print_thinned(ev, i, b, began);
	}
	if (quiet > LINES_MAX)
		pr_info("%zu other tracepoints: 0 samples, and the kernel counted none", quiet);
	if (thinned > LINES_MAX)
		print_all_thinned(ev, se, thinned, began);
}
