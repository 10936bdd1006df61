/* Profiles of several events (profile.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event_pick.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/profile.h"

static struct event_label label_of(const struct profile *p, uint32_t at)
{
	const char *name = profile_meta(p, "event"), *modifier = profile_meta(p, "event_modifier");

	if (p->nevents)
		return (struct event_label){ profile_text(p, p->events[at].name), profile_text(p, p->events[at].modifier) };
	return (struct event_label){ name ? name : "", modifier ? modifier : "" };
}

/* Owned by the caller. */
static struct event_label *labels(const struct profile *p, size_t *n)
{
	struct event_label *v;

	*n = p->nevents ? p->nevents : 1;
	v = xcalloc(*n, sizeof(*v));
	for (uint32_t i = 0; i < *n; i++)
		v[i] = label_of(p, i);
	return v;
}

static int first_used(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nevents; i++)
		if (p->events[i].samples)
			return (int)i;
	return 0;
}

int profile_pick(const struct profile *p, const char *name, const char *shown)
{
	struct event_label *v;
	size_t n;
	int at;

	if (!name)
		return first_used(p);
	v = labels(p, &n);
	at = event_pick(v, n, name, shown);
	free(v);
	return at;
}

void profile_pick_tell(const struct profile *p, uint32_t at, const char *shown, const char *also)
{
	size_t n;
	struct event_label *v = labels(p, &n);

	event_pick_tell(v, n, at, shown, also);
	free(v);
}

bool profile_is_off_cpu(const char *event)
{
	/* nsprof's own (rec_events.h), and perf's; others with these names would be of a PMU or tracepoint. */
	return !strcmp(event, "off-cpu") || !strcmp(event, "offcpu-time");
}

bool profile_has_waits(const char *event)
{
	return event && !strcmp(event, "off-cpu");
}

const char *profile_counted(const char *event)
{
	return profile_has_waits(event) ? "waits" : "samples";
}

const char *profile_time_of(const char *event, const char *unit)
{
	const bool clock = unit ? !strcmp(unit, "ns") : event_is_clock(event);

	if (profile_is_off_cpu(event))
		return "off the CPU";
	if (!strcmp(event, "wall"))
		return "of wall time";
	return clock || !strcmp(event, "sched:sched_stat_runtime") ? "of CPU time" : NULL;
}

void profile_tell_unit(struct profile *p, const char *event, const char *unit)
{
	const bool ns = !strcmp(unit, "ns"), told = event_is_clock(event) || profile_is_off_cpu(event) || !strcmp(event, "wall");

	profile_unset_meta(p, "event_unit");
	if (ns != told)
		profile_set_meta(p, "event_unit", ns ? "ns" : "events");
}

void profile_event_text(const struct profile *p, uint32_t at, struct strbuf *out)
{
	const struct event_label label = label_of(p, at);

	event_label_text(&label, out);
}

const char *profile_time_name(const char *event)
{
	return profile_is_off_cpu(event) ? "time off the CPU" : !strcmp(event, "wall") ? "wall time" : "CPU time";
}

struct profile profile_view_event(const struct profile *p, uint32_t at)
{
	struct profile view = *p;

	/* Counts are sorted by event first. */
	if (!p->nevents)
		return view;
	view.counts = p->counts + BISECT(p->ncounts, i, p->counts[i].event < at);
	view.ncounts = BISECT(p->ncounts, i, p->counts[i].event <= at) - (size_t)(view.counts - p->counts);
	view.samples = p->events[at].samples;
	view.period = p->events[at].period;
	view.events = NULL;
	view.nevents = 0;
	return view;
}

static void set_text(struct profile *p, const char *key, uint32_t id)
{
	profile_unset_meta(p, key);
	if (id)
		profile_set_meta(p, key, profile_text(p, id));
}

/* @zero: is 0 a fact, too? */
static void set_number(struct profile *p, const char *key, uint64_t v, bool zero)
{
	char text[24];

	profile_unset_meta(p, key);
	snprintf(text, sizeof(text), "%" PRIu64, v);
	if (v || zero)
		profile_set_meta(p, key, text);
}

void profile_own_losses(struct profile *p, const struct profile_event *ev)
{
	const struct {
		const char *key;
		uint64_t v;
	} own[] = {
		{ "kept", ev->kept }, { "lost", ev->lost }, { "cut", ev->cut }, { "dropped", ev->dropped }, { "withheld", ev->withheld },
		{ "throttled_times", ev->throttled_times }, { "throttled_samples", ev->throttled_samples },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i].v != PROFILE_UNKNOWN)
			set_number(p, own[i].key, own[i].v, true);
}

struct profile *profile_only(struct profile *p, uint32_t at)
{
	const bool verdicts = profile_meta(p, "incomplete");
	struct profile_event ev;
	struct profile *only;
	size_t n = 0;

	if (!p->nevents)
		return p;
	ev = p->events[at];
	for (size_t i = 0; i < p->ncounts; i++) {
		if (p->counts[i].event != at)
			continue;
		p->counts[n] = p->counts[i];
		p->counts[n++].event = 0;
	}
	p->ncounts = n;
	free(p->events);
	p->events = NULL;
	p->nevents = 0;
	set_text(p, "event", ev.name);
	set_text(p, "event_modifier", ev.modifier);
	profile_tell_unit(p, profile_text(p, ev.name), profile_text(p, ev.unit));
	set_number(p, "frequency", ev.frequency, false);
	set_number(p, "fixed_period", ev.fixed_period, false);
	if (ev.call_graph) {
		set_text(p, "call_graph", ev.call_graph);
		set_number(p, "stack_bytes", ev.stack_bytes, true);
	}
	profile_unset_meta(p, "weight");
	profile_set_meta(p, "weight", ev.by_period ? "period" : "samples");
	/* A filter on a saved profile forgets them. */
	if (verdicts) {
		set_number(p, "truncated", ev.truncated, true);
		set_number(p, "incomplete", ev.incomplete, true);
	}
	profile_own_losses(p, &ev);
	only = profile_sorted(p);
	profile_free(p);
	return only;
}

/* A few may be told of. */
#define UNUSED_MAX 4u

struct profile *profile_skip_unused(struct profile *p)
{
	uint32_t *to = xcalloc((size_t)p->nevents + 1, sizeof(*to)), n = 0;
	char note[100];

	for (uint32_t i = 0; i < p->nevents; i++) {
		to[i] = n;
		n += p->events[i].samples != 0;
	}
	if (n && p->nevents - n > UNUSED_MAX) {
		snprintf(note, sizeof(note), "%" PRIu32 " other event%s without samples", p->nevents - n, plural(p->nevents - n));
		profile_set_meta(p, "note", note);
		for (size_t i = 0; i < p->ncounts; i++)
			p->counts[i].event = to[p->counts[i].event];
		for (uint32_t i = 0; i < p->nevents; i++)
			if (p->events[i].samples)
				p->events[to[i]] = p->events[i];
		p->nevents = n;
	}
	free(to);
	return p->nevents == 1 ? profile_only(p, 0) : p;
}
