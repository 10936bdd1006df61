/* Event names to perf_event_attr, and what to take instead where the machine has no such event. */
#ifndef NSPROF_EVSEL_H
#define NSPROF_EVSEL_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct evsel {
	const char *name;	/* "cpu-clock", perf's first spelling; static text */
	uint32_t type;		/* PERF_TYPE_* */
	uint64_t config;	/* PERF_COUNT_* */
	bool exclude_user, exclude_kernel;
};

/*
 * @text is NAME[:MODIFIERS] as perf spells them, e.g. "cycles:ppp" or "cpu-clock:u"; modifiers are
 * u, k, p, P and H. 0, or -EINVAL after a message that lists what there is. @ev is set only on
 * success.
 */
int evsel_parse(struct evsel *ev, const char *text);

/*
 * perf's habit (tools/perf/util/evsel.c, evsel__fallback): where the PMU has no cycles, cpu-clock
 * is taken. @err: negative errno of perf_event_open(2). True when @ev was replaced.
 */
bool evsel_fall_back(struct evsel *ev, int err);

/* ns: perf_swevent_hrtimer() and perf_swevent_start_hrtimer() take max_t(u64, 10000, sample_period). */
#define CLOCK_PERIOD_MIN 10000u

/* The period of the event counts nanoseconds. */
bool evsel_is_clock(const struct evsel *ev);
/* It counts whenever something runs, in nanoseconds or in what the CPU does. */
bool evsel_counts_work(const struct evsel *ev);
/* A counter of the kernel's that overflows at each single event, so that nothing is estimated. */
bool evsel_counts_each(const struct evsel *ev);
bool evsel_is_hardware(const struct evsel *ev);
/* "u", "k" or "". Static text. */
const char *evsel_modifier(const struct evsel *ev);
/* Type, config and the two exclude bits; nothing else in @attr is touched. */
void evsel_attr(const struct evsel *ev, struct perf_event_attr *attr);

#endif
