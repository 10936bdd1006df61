/* One event to sample by: its part of struct perf_event_attr, and what its count means. */
#ifndef NSPROF_EVSEL_H
#define NSPROF_EVSEL_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evlist/callgraph.h"

/*
 * Made by evlist_parse(). It may be copied: all pointers are static or borrowed from the list
 * (struct evlist), and stay valid until evlist_fini().
 */
struct evsel {
	/*
	 * As outputs show it, without modifiers, but unique in its list together with
	 * evsel_modifier(): "cpu-clock", "cpu_core/cycles/", "sched:sched_switch".
	 */
	const char *name;
	const char *base;	/* the same before it was made unique */
	uint32_t type;		/* PERF_TYPE_*, or the number of a PMU */
	uint64_t config;	/* PERF_COUNT_*, a tracepoint's id ... */
	uint64_t config1, config2;	/* of breakpoints: address, and length in bytes */
	uint32_t bp_type;	/* HW_BREAKPOINT_*; 0: no breakpoint */
	uint8_t precise;	/* attr.precise_ip: 0 to 3 */
	bool exclude_user, exclude_kernel, exclude_idle;
	bool pinned, exclusive;	/* of a group's leader only */
	/* The rate asked for. Either @freq or @period is 0. */
	uint64_t freq;		/* samples per second and CPU; UINT64_MAX: as many as allowed */
	uint64_t period;	/* events per sample */
	/*
	 * @period is 1 because nobody asked for a rate: every single event. If there are too many of
	 * them, the recorder may take a longer period.
	 */
	bool every;
	/*
	 * Sampled as a thread leaves the CPU (--off-cpu). @period is the mean, and the real one varies
	 * around it; 0, and no @freq: the recorder chooses it.
	 */
	bool waits;
	struct stack_terms stacks;	/* of its own; what it lacks is as in the options */
	/* Group: the index in the list of its leader; its own without a group. Leaders come first. */
	uint32_t leader;
	bool sample_read;	/* {...}:S: only the leader is sampled, and the others are read then */
	bool weak;		/* {...}:W: if the PMU cannot count the group, open it without one */
	/* The only CPUs to open it on, ascending. @ncpus 0: all of the target. */
	const uint32_t *cpus;
	size_t ncpus;
	const char *pmu;	/* name of the PMU that was named or found; NULL: none */
	const char *unit;	/* of counts: "ns", "Joules", or "" */
	double scale;		/* a count times this is in @unit; 1 unless sysfs says otherwise */
	bool tracepoint;
	/* For tracepoints, the file "format" of tracefs, see tp_format.h; otherwise NULL. */
	const char *format;
	const char *filter;	/* in the kernel's syntax, for PERF_EVENT_IOC_SET_FILTER; NULL: none */
	uint32_t spec;		/* index of the -e that it comes from */
};

#define EVSEL_FREQ_MAX UINT64_MAX

/* A software event or a hardware event of perf_event_open(2), named by the table of event_name.h. */
void evsel_init(struct evsel *ev, const char *name, uint32_t type, uint64_t config);

/* The event of --off-cpu: one sample per about @period switches; 0: adapted to how many there are. */
void evsel_init_waits(struct evsel *ev, uint64_t period);

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
/* Sets what @ev says about the event itself; leaves the rest of @attr, and the rate, alone. */
void evsel_attr(const struct evsel *ev, struct perf_event_attr *attr);

#endif
