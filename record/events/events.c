#include "events/events.h"

#include "base/util.h"
#include "events/ringplan.h"

#define RATE_UNKNOWN 1000	/* samples per second, assumed if only a period is known */

uint64_t events_rate(const struct events *ev)
{
	if (!ev->period)
		return ev->freq;
	if (evsel_is_clock(&ev->sel))
		return MAX(1000000000ull / ev->period, 1);
	return RATE_UNKNOWN;
}

uint64_t events_ring_ms(const struct events *ev)
{
	return ringplan_ms(ev->data_bytes, events_rate(ev), ev->record_bytes);
}

bool events_roomy(const struct events *ev)
{
	return events_ring_ms(ev) >= RING_MS;
}

bool events_paced(const struct events *ev)
{
	return events_roomy(ev) && evsel_is_clock(&ev->sel) && (ev->target->kind != TARGET_CGROUPS || ev->by_cgroup_id);
}
