#include "evlist/evsel.h"

#include <errno.h>
#include <string.h>

/* On machines with several kinds of core, the PMU's number is above the event's. */
#define HW_EVENT(config) ((config) & 0xffffffff)

void evsel_init(struct evsel *ev, const char *name, uint32_t type, uint64_t config)
{
	memset(ev, 0, sizeof(*ev));
	ev->name = name;
	ev->type = type;
	ev->config = config;
	ev->scale = 1;
	ev->unit = evsel_is_clock(ev) ? "ns" : "";
}

void evsel_init_waits(struct evsel *ev, uint64_t period)
{
	evsel_init(ev, "off-cpu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	ev->base = ev->name;
	ev->unit = "ns";
	ev->waits = true;
	ev->period = period;
}

bool evsel_fall_back(struct evsel *ev, int err)
{
	if (err != -ENOENT && err != -ENXIO && err != -ENODEV && err != -EOPNOTSUPP)
		return false;
	if (ev->type != PERF_TYPE_HARDWARE || ev->config != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	ev->name = "cpu-clock";
	ev->type = PERF_TYPE_SOFTWARE;
	ev->config = PERF_COUNT_SW_CPU_CLOCK;
	ev->unit = "ns";
	return true;
}

bool evsel_is_clock(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE && (ev->config == PERF_COUNT_SW_CPU_CLOCK ||
						  ev->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool evsel_counts_work(const struct evsel *ev)
{
	const uint64_t event = HW_EVENT(ev->config);

	return evsel_is_clock(ev) || (ev->type == PERF_TYPE_HARDWARE && (event == PERF_COUNT_HW_CPU_CYCLES ||
									 event == PERF_COUNT_HW_INSTRUCTIONS));
}

bool evsel_counts_each(const struct evsel *ev)
{
	if (ev->type == PERF_TYPE_TRACEPOINT || ev->type == PERF_TYPE_BREAKPOINT)
		return true;
	return ev->type == PERF_TYPE_SOFTWARE && !evsel_is_clock(ev);
}

bool evsel_is_hardware(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_HARDWARE || ev->type == PERF_TYPE_HW_CACHE || ev->type == PERF_TYPE_RAW ||
	       ev->type >= PERF_TYPE_MAX;
}

const char *evsel_modifier(const struct evsel *ev)
{
	return ev->exclude_kernel ? "u" : ev->exclude_user ? "k" : "";
}

void evsel_attr(const struct evsel *ev, struct perf_event_attr *attr)
{
	attr->type = ev->type;
	attr->config = ev->config;
	/* A union with bp_addr and bp_len. */
	attr->config1 = ev->config1;
	attr->config2 = ev->config2;
	attr->bp_type = ev->bp_type;
	attr->precise_ip = ev->precise & 3;
	attr->exclude_user = ev->exclude_user;
	attr->exclude_kernel = ev->exclude_kernel;
	attr->exclude_idle = ev->exclude_idle;
	attr->pinned = ev->pinned;
	attr->exclusive = ev->exclusive;
}
