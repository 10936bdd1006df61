#include "info/info_events.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "recording/ledger_sums.h"
#include "recording/rec_events.h"

#define CHANGES_SHOWN 5u
/* Percent: an event that was on a counter for less of the time shared it with others. */
#define SHARED_PERCENT 99.0

void info_events_add(struct info_events *ie, const struct ev_event *ev)
{
	const uint32_t had = ie->table.n;

	if (ev->index < had) {
		const struct ev_event *first = &ie->table.ev[ev->index];
		uint64_t now = first->period;

		for (size_t i = 0; i < ie->nchanges; i++)
			if (ie->changes[i].event == ev->index)
				now = ie->changes[i].period;
		if (now == ev->period || ev->freq)
			return;
		XGROW(ie->changes, ie->nchanges, ie->cap_changes);
		ie->changes[ie->nchanges++] = (struct info_period){ ev->index, ev->time, ev->period };
		return;
	}
	if (event_table_put(&ie->table, ev) <= 0)
		return;
	ie->samples = xrealloc(ie->samples, ie->table.n * sizeof(*ie->samples));
	ie->samples[had] = 0;
}

void info_events_fini(struct info_events *ie)
{
	event_table_fini(&ie->table);
	free(ie->samples);
	free(ie->changes);
}

/* What the kernel counted of event @e on all CPUs, as one row. */
static struct ev_counts sum_of(const struct ev_counts *counts, size_t n, uint32_t e)
{
	struct ev_counts sum = { .event = e };

	for (size_t i = 0; i < n; i++) {
		if (counts[i].event != e)
			continue;
		sum.count += counts[i].count;
		sum.samples += counts[i].samples;
		sum.periods += counts[i].periods;
		sum.lost += counts[i].lost;
		sum.enabled += counts[i].enabled;
		sum.running += counts[i].running;
		sum.throttled += counts[i].throttled;
		sum.throttled_ns += counts[i].throttled_ns;
		sum.throttled_samples += counts[i].throttled_samples;
	}
	return sum;
}

/* The events of waits count switches; ns are what the waits are weighed by. */
static const char *unit_of(const struct ev_event *ev)
{
	return ev->role == ROLE_WAITS ? "switches" : ev->unit;
}

static bool counts_ns(const struct ev_event *ev)
{
	return !strcmp(unit_of(ev), "ns");
}

/* While the kernel adapts the period of a software event, its sums are not the count. */
static bool has_coverage(const struct ev_event *ev, const struct ev_counts *c)
{
	if (ev->freq && !counts_ns(ev) && ev->type == PERF_TYPE_SOFTWARE)
		return false;
	return c->count && (c->samples || !c->lost) && !(counts_ns(ev) && *ev->modifier);
}

/* What a thinned event lost was lost when its period was still short: it does not count for an average. */
static double coverage(const struct info_events *ie, const struct ev_counts *c)
{
	struct ev_ledger l = { .kept = c->samples, .lost_kernel = c->lost, .periods = c->periods, .count = c->count };

	for (size_t i = 0; i < ie->nchanges; i++)
		if (ie->changes[i].event == c->event)
			l.lost_kernel = 0;
	return ledger_sums_coverage(&l);
}

/*
 * Percent of the time in which it was on a counter. Only counters of a PMU are shared. The events of a
 * thread are enabled on all CPUs and run on one, so there the times do not tell.
 */
static double on_counter(const struct info_events *ie, const struct ev_event *ev, const struct ev_counts *c)
{
	if (ie->tasks || !c->enabled || ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT || ev->type == PERF_TYPE_BREAKPOINT)
		return 100;
	return 100 * (double)c->running / (double)c->enabled;
}

/* ---- text ---- */

static void add_named(struct strbuf *sb, const char *what, const char *value)
{
	if (!*value)
		return;
	strbuf_adds(sb, what);
	escape_name(sb, value);
	strbuf_addc(sb, '\'');
}

static void text_rate(const struct info_events *ie, const struct ev_event *ev, struct strbuf *sb)
{
	if (ev->role == ROLE_MEMBER)
		add_named(sb, ", read with '", ev->leader < ie->table.n ? ie->table.ev[ev->leader].name : "?");
	else if (ev->freq)
		strbuf_addf(sb, ", %" PRIu64 " Hz", ev->freq);
	else if (!ev->period)
		strbuf_adds(sb, ", each with its own period");
	else if (ev->period == 1)
		strbuf_adds(sb, ", each single one");
	else if (ev->role == ROLE_WAITS)
		strbuf_adds(sb, ", at some of the switches");
	else
		strbuf_addf(sb, ", every %" PRIu64 "%s%s", ev->period, *ev->unit ? " " : "", ev->unit);
}

/* Where they are not those of the first event, which the settings describe. */
static void text_stacks(const struct info_events *ie, const struct ev_event *ev, struct strbuf *sb)
{
	const struct ev_event *first = &ie->table.ev[0];

	if (ev->callgraph == first->callgraph && ev->dump_size == first->dump_size && ev->max_stack == first->max_stack)
		return;
	if (ev->callgraph == CALLGRAPH_NONE) {
		strbuf_adds(sb, ", without stacks");
		return;
	}
	strbuf_addf(sb, ", stacks by %s", rec_events_callgraph(ev->callgraph));
	if (ev->dump_size)
		strbuf_addf(sb, " of %" PRIu32 " bytes", ev->dump_size);
	if (ev->max_stack)
		strbuf_addf(sb, ", at most %" PRIu32 " frame%s", ev->max_stack, plural(ev->max_stack));
}

/* "1 of 64 from 2.1 s on, 1 of 32 from 7.0 s on" */
static void text_changes(const struct info_events *ie, uint32_t e, uint64_t start, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < ie->nchanges; i++) {
		const struct info_period *c = &ie->changes[i];

		if (c->event != e)
			continue;
		if (n++ < CHANGES_SHOWN)
			fprintf(to, "%s1 of %" PRIu64 " from %.1f s on", n == 1 ? "                  thinned: " : ", ", c->period,
				c->time > start ? (double)(c->time - start) / 1e9 : 0);
	}
	if (n > CHANGES_SHOWN)
		fprintf(to, " and %zu more changes: see --json", n - CHANGES_SHOWN);
	if (n)
		putc('\n', to);
}

static void text_event(const struct info_events *ie, uint32_t e, const struct ev_counts *c, bool lost_known, FILE *to)
{
	const struct ev_event *ev = &ie->table.ev[e];
	struct strbuf sb = STRBUF_INIT;
	char covered[16] = "-", lost[24] = "?";

	if (lost_known)
		snprintf(lost, sizeof(lost), "%" PRIu64, c->lost);

	if (has_coverage(ev, c))
		snprintf(covered, sizeof(covered), "%.1f %%", coverage(ie, c));
	fprintf(to, "%12" PRIu64 " %9s ", ie->samples[e], lost);
	if (!c->count && !c->enabled)
		fprintf(to, "%16s ", "-");
	else if (counts_ns(ev))
		fprintf(to, "%14.3f s ", (double)c->count / 1e9);
	else
		fprintf(to, "%16" PRIu64 " ", c->count);
	escape_name(&sb, ev->name);
	if (*ev->modifier)
		strbuf_addf(&sb, ":%s", ev->modifier);
	text_rate(ie, ev, &sb);
	if (ev->role != ROLE_MEMBER && ev->leader != e && ev->leader < ie->table.n)
		add_named(&sb, ", grouped with '", ie->table.ev[ev->leader].name);
	add_named(&sb, ", filter '", ev->filter);
	text_stacks(ie, ev, &sb);
	if (on_counter(ie, ev, c) < SHARED_PERCENT)
		strbuf_addf(&sb, "; counted for %.0f %% of the time: in all about %.0f", on_counter(ie, ev, c),
			    c->running ? (double)c->count * (double)c->enabled / (double)c->running : 0);
	if (c->throttled)
		strbuf_addf(&sb, "; throttled %" PRIu64 " time%s, %.3f s in all: about %" PRIu64 " samples not taken", c->throttled,
			    plural(c->throttled), (double)c->throttled_ns / 1e9, c->throttled_samples);
	fprintf(to, "%9s  %s\n", covered, sb.s);
	strbuf_fini(&sb);
}

void info_events_text(const struct info_events *ie, const struct ev_counts *counts, size_t n, bool lost_known, uint64_t start,
		      FILE *to)
{
	if (!ie->table.n)
		return;
	fprintf(to, "\n%12s %9s %16s %9s  event\n", "samples", "lost", "counted", "sampled");
	for (uint32_t e = 0; e < ie->table.n; e++) {
		const struct ev_counts c = sum_of(counts, n, e);

		text_event(ie, e, &c, lost_known, to);
		text_changes(ie, e, start, to);
	}
}

/* ---- JSON ---- */

static void json_changes(const struct info_events *ie, uint32_t e, uint64_t start, struct json *j)
{
	json_begin_array(j, "changes");
	for (size_t i = 0; i < ie->nchanges; i++) {
		const struct info_period *c = &ie->changes[i];

		if (c->event != e)
			continue;
		json_begin_object(j, NULL);
		json_double(j, "second", c->time > start ? (double)(c->time - start) / 1e9 : 0);
		json_u64(j, "period", c->period);
		json_end_object(j);
	}
	json_end_array(j);
}

void info_events_json(const struct info_events *ie, const struct ev_counts *counts, size_t n, bool lost_known, uint64_t start,
		      struct json *j)
{
	json_begin_array(j, "events");
	for (uint32_t e = 0; e < ie->table.n; e++) {
		const struct ev_event *ev = &ie->table.ev[e];
		const struct ev_counts c = sum_of(counts, n, e);

		json_begin_object(j, NULL);
		json_name(j, "name", ev->name);
		json_name(j, "modifier", ev->modifier);
		json_u64(j, "role", ev->role);
		json_u64(j, "leader", ev->leader);
		json_u64(j, "type", ev->type);
		json_u64(j, "config", ev->config);
		json_u64(j, "frequency", ev->freq);
		json_u64(j, "period", ev->period);
		json_name(j, "unit", unit_of(ev));
		json_name(j, "filter", ev->filter);
		json_bool(j, "fields", *ev->fields);
		json_str(j, "call_graph", rec_events_callgraph(ev->callgraph));
		json_u64(j, "dump_size", ev->dump_size);
		json_u64(j, "max_stack", ev->max_stack);
		json_u64(j, "samples", ie->samples[e]);
		if (lost_known) {
			json_u64(j, "taken", c.samples + c.lost);
			json_u64(j, "lost", c.lost);
		}
		json_u64(j, "count", c.count);
		json_u64(j, "periods", c.periods);
		if (has_coverage(ev, &c))
			json_double(j, "coverage", coverage(ie, &c));
		json_u64(j, "throttled", c.throttled);
		json_u64(j, "throttled_ns", c.throttled_ns);
		json_u64(j, "throttled_samples", c.throttled_samples);
		json_u64(j, "enabled_ns", c.enabled);
		json_u64(j, "running_ns", c.running);
		json_changes(ie, e, start, j);
		json_end_object(j);
	}
	json_end_array(j);
}
