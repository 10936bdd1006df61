/* From event names to perf_event_attr, and fallbacks for events that the machine lacks. */
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
 * @text is NAME[:MODIFIERS] in perf's spelling, e.g. "cycles:ppp" or "cpu-clock:u". The modifiers
 * are u, k, p, P and H. 0, or -EINVAL after a message that lists what exists. Sets @ev only on
 * success.
 */
int evsel_parse(struct evsel *ev, const char *text);

/*
 * Falls back from cycles to cpu-clock if there is no PMU, as perf does (tools/perf/util/evsel.c,
 * evsel__fallback). @err: negative errno of perf_event_open(2). True if @ev was replaced.
 */
bool evsel_fall_back(struct evsel *ev, int err);

/*
 * ns: perf_swevent_hrtimer() and perf_swevent_start_hrtimer() use max_t(u64, 10000, sample_period).
 */
#define CLOCK_PERIOD_MIN 10000u

/* Does the event count nanoseconds? */
bool evsel_is_clock(const struct evsel *ev);
/* Does it count whenever something runs, in nanoseconds or in work of the CPU? */
bool evsel_counts_work(const struct evsel *ev);
/* Is it a kernel counter that overflows at every event, so that nothing is estimated? */
bool evsel_counts_each(const struct evsel *ev);
bool evsel_is_hardware(const struct evsel *ev);
/* "u", "k" or "". Static text. */
const char *evsel_modifier(const struct evsel *ev);
/* Sets type, config and the two exclude bits; leaves the rest of @attr alone. */
void evsel_attr(const struct evsel *ev, struct perf_event_attr *attr);

#endif
