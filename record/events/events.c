#include "events/events.h"

#include <unistd.h>

#include "base/util.h"
#include "cli/event_name.h"
#include "events/open.h"
#include "events/ringplan.h"

#define RATE_UNKNOWN 1000	/* samples per second, assumed if only a period is known */
#define UNLIMITED_LOAD (10 * EVENT_BUDGET_DEFAULT)	/* bytes per second, with --event-budget none */

static uint64_t rate_of(const struct rec_event *e)
{
	if (e->member || e->sel.waits)
		return 0;
	if (!e->period)
		return e->freq;
	if (evsel_is_clock(&e->sel))
		return MAX(1000000000ull / e->period, 1);
	return 0;
}

bool events_split(const struct events *ev)
{
	bool bounded = false, unbounded = false;

	for (size_t i = 0; i < ev->n; i++) {
		bounded |= !ev->v[i].unbounded && !ev->v[i].member;
		unbounded |= ev->v[i].unbounded;
	}
	return bounded && unbounded;
}

uint64_t events_record(const struct events *ev, bool extra)
{
	const bool split = events_split(ev);
	uint64_t bytes = 0;

	for (size_t i = 0; i < ev->n; i++)
		if ((split && ev->v[i].unbounded) == extra)
			bytes = MAX(bytes, ev->v[i].record_bytes);
	return bytes;
}

/* Stacks per second and CPU of --off-cpu. */
static uint64_t waits_rate(const struct rec_event *e)
{
	return e->sel.every || !e->period ? WAITS_COPIES : WAITS_CPU_HZ / e->period;
}

/* Bytes per second and CPU that unbounded events may write. */
static uint64_t extra_load(const struct events *ev)
{
	const size_t at = events_waits(ev);
	uint64_t load = RATE_UNKNOWN * events_record(ev, events_split(ev));

	/* One event with a period that its user chose has the ring that it always had. */
	if (!events_have_ids(ev))
		return load;
	load = MAX(load, events_budget(ev) == EVENT_BUDGET_NONE ? UNLIMITED_LOAD : events_budget(ev));
	return at == SIZE_MAX ? load : MAX(load, waits_rate(&ev->v[at]) * ev->v[at].record_bytes);
}

/* The same of all events that share the data ring. */
static uint64_t data_load(const struct events *ev)
{
	uint64_t load = 0;

	for (size_t i = 0; i < ev->n; i++)
		load += rate_of(&ev->v[i]) * ev->v[i].record_bytes;
	return load ? load : extra_load(ev);
}

bool events_thins(const struct events *ev, size_t event)
{
	const struct rec_event *e = &ev->v[event];

	if (!e->unbounded || e->member || e->sel.waits || ev->opts->event_budget == EVENT_BUDGET_NONE)
		return false;
	return ev->opts->event_budget || (e->sel.every && (ev->n > 1 || e->sel.tracepoint));
}

bool events_varies(const struct events *ev, size_t event)
{
	const struct rec_event *e = &ev->v[event];

	return e->sel.waits && e->period && (e->sel.period > 1 || e->sel.every) && events_can_set_period(ev);
}

size_t events_waits(const struct events *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		if (ev->v[i].sel.waits)
			return i;
	return SIZE_MAX;
}

uint64_t events_budget(const struct events *ev)
{
	return ev->opts->event_budget ? ev->opts->event_budget : EVENT_BUDGET_DEFAULT;
}

bool events_have_ids(const struct events *ev)
{
	return ev->n > 1 || events_thins(ev, 0) || ev->v[0].sel.waits || (ev->opts->payloads && ev->v[0].sel.tracepoint);
}

bool events_listed(const struct events *ev)
{
	const struct evsel *first = &ev->v[0].sel;

	return events_have_ids(ev) || !event_name_tells(first->name, first->type, first->config);
}

uint64_t events_ring_ms(const struct events *ev)
{
	return ringplan_ms(ev->data_bytes, data_load(ev));
}

bool events_roomy(const struct events *ev)
{
	return events_ring_ms(ev) >= RING_MS;
}

bool events_paced(const struct events *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		if (!evsel_is_clock(&ev->v[i].sel) && (!ev->v[i].unbounded || !events_split(ev)))
			return false;
	return events_roomy(ev) && (ev->target->kind != TARGET_CGROUPS || ev->by_cgroup_id);
}

size_t events_clock(const struct events *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		if (evsel_is_clock(&ev->v[i].sel) && !*evsel_modifier(&ev->v[i].sel) && !ev->v[i].member)
			return i;
	return 0;
}

uint64_t events_ram(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Beside rings of unbounded events: these take a quarter of the memory for all rings. */
#define EXTRA_SHARE 4u

uint64_t events_plan_data(const struct events *ev)
{
	const uint64_t n = ev->target->ncpus;
	const uint64_t rings = events_split(ev) ? (n * EXTRA_SHARE + EXTRA_SHARE - 2) / (EXTRA_SHARE - 1) : n;

	return ringplan_bytes(data_load(ev), rings, events_ram());
}

uint64_t events_plan_extra(const struct events *ev)
{
	return ringplan_bytes(extra_load(ev), (uint64_t)ev->target->ncpus * EXTRA_SHARE, events_ram());
}
