#include "events/event_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "events/event_attr.h"
#include "events/event_stacks.h"
#include "events/open.h"
#include "trace/tp_format.h"

static void set_period(struct rec_event *e)
{
	e->period = e->sel.period;
	if (e->period && evsel_is_clock(&e->sel))
		e->period = MAX(e->period, CLOCK_PERIOD_MIN);
	e->now = e->period;
	/* Those with __perf_count() in include/trace/events/sched.h: nanoseconds. */
	e->weighed = e->sel.tracepoint && e->period == 1 && !strncmp(e->sel.name, "sched:sched_stat_", 17);
	e->unbounded = (e->period || e->sel.waits) && !e->member && !evsel_is_clock(&e->sel);
}

/*
 * How often threads are sampled as they leave the CPU, if that is up to us: see off_cpu.h. Inherited
 * events keep their period, so there the kernel has to adapt it, by thread.
 */
static void set_waits_rate(const struct events *ev, struct evsel *sel)
{
	if (!sel->waits || sel->period)
		return;
	sel->every = events_can_set_period(ev);
	sel->period = sel->every ? WAITS_FIRST : 0;
	sel->freq = sel->every ? 0 : WAITS_THREAD_HZ;
}

static void set_counted(struct events *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		ev->v[i].counted = (events_thins(ev, i) || events_varies(ev, i)) && !ev->v[i].reads && !ev->v[i].weighed &&
				   events_can_set_period(ev);
}

static char *field_lines(const char *format)
{
	struct strbuf lines = STRBUF_INIT;

	tp_format_lines(format, strlen(format), &lines);
	return lines.s ? lines.s : xstrdup("");
}

/* Which events there are, and how they are to be sampled. */
void event_list_init(struct events *ev, const struct evsel *sels, size_t n)
{
	bool told = false;

	ev->v = xcalloc(n, sizeof(*ev->v));
	ev->n = n;
	for (size_t i = 0; i < n; i++) {
		struct rec_event *e = &ev->v[i];

		e->sel = sels[i];
		set_waits_rate(ev, &e->sel);
		e->wanted = sels[i].name;
		e->member = sels[i].leader != i && sels[sels[i].leader].sample_read;
		e->stacks = event_stacks(&sels[e->member ? sels[i].leader : i], ev->opts);
		e->record_bytes = event_stacks_record(&e->stacks, ev->opts);
		ev->v[sels[i].leader].reads |= e->member;
		if (!e->sel.period && !e->member)
			e->freq = events_clamp_freq(e->sel.freq, &told);
		set_period(e);
		if (e->sel.tracepoint && e->sel.format && ev->opts->payloads != PAYLOADS_NONE)
			e->fields = field_lines(e->sel.format);
	}
	set_counted(ev);
}

void event_list_fini(struct events *ev)
{
	for (size_t i = 0; i < ev->nleft; i++) {
		free(ev->left[i].name);
		free(ev->left[i].why);
	}
	for (size_t i = 0; i < ev->n; i++)
		free(ev->v[i].fields);
	free(ev->left);
	free(ev->v);
}

bool event_list_has(const struct events *ev, const struct evsel *sel)
{
	for (size_t i = 0; i < ev->n; i++)
		if (strcmp(ev->v[i].sel.name, sel->name) == 0 && ev->v[i].sel.type == sel->type && ev->v[i].sel.config == sel->config)
			return true;
	return false;
}

bool event_list_others(const struct events *ev, size_t event)
{
	for (size_t i = 0; i < ev->n; i++)
		if (i != event && ev->v[i].sel.leader != event && !ev->v[i].left_out)
			return true;
	return false;
}

void event_list_leave_out(struct events *ev, size_t event, int err, const char *why)
{
	for (size_t i = event; i < ev->n; i++) {
		if ((i != event && ev->v[i].sel.leader != event) || ev->v[i].left_out)
			continue;
		ev->v[i].left_out = err;
		XGROW(ev->left, ev->nleft, ev->cap_left);
		ev->left[ev->nleft++] = (struct event_left_out){ xstrdup(ev->v[i].sel.name), xstrndup(why, strcspn(why, "\n")) };
	}
}

void event_list_left(struct events *ev, const struct evlist *el)
{
	for (size_t i = 0; i < el->nleft; i++) {
		XGROW(ev->left, ev->nleft, ev->cap_left);
		ev->left[ev->nleft++] = (struct event_left_out){ xstrdup(el->left[i].name), xstrdup(el->left[i].why) };
	}
}

/* Removes the events that were left out. Those that follow get lower indices. */
static void close_gaps(struct events *ev)
{
	uint32_t *to = xcalloc(ev->n, sizeof(*to));
	uint32_t n = 0;

	for (size_t i = 0; i < ev->n; i++) {
		to[i] = n;
		n += !ev->v[i].left_out;
	}
	for (size_t i = 0; i < ev->n; i++)
		if (ev->v[i].left_out)
			free(ev->v[i].fields);
		else
			ev->v[to[i]] = ev->v[i];
	ev->n = n;
	for (size_t i = 0; i < ev->n; i++) {
		ev->v[i].sel.leader = to[ev->v[i].sel.leader];
		ev->v[i].reads = false;
	}
	for (size_t i = 0; i < ev->n; i++)
		ev->v[ev->v[i].sel.leader].reads |= ev->v[i].member;
	free(to);
}

bool event_list_settle(struct events *ev)
{
	bool any = false;

	for (size_t i = 0; i < ev->n; i++) {
		set_period(&ev->v[i]);
		any |= ev->v[i].left_out != 0;
	}
	if (any)
		close_gaps(ev);
	set_counted(ev);
	return any;
}
