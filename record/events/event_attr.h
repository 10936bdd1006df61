/* One event of a recording: its attributes, and what to do when the kernel refuses them. */
#ifndef NSPROF_EVENT_ATTR_H
#define NSPROF_EVENT_ATTR_H

#include <stddef.h>

#include "events/events.h"
#include "events/sample_parse.h"

/* In place of an index: what reports mappings, programs and threads, and counts nothing. */
#define EVENT_SIDE SIZE_MAX

/* What reports when threads go to a CPU and leave it. */
#define EVENT_SWITCHES (SIZE_MAX - 1)
/* What reports that threads are woken. */
#define EVENT_WAKEUPS (SIZE_MAX - 2)

/* Where an event is opened: the arguments of perf_event_open(2). */
struct event_place {
	int pid;		/* -1: all threads; with PERF_FLAG_PID_CGROUP, descriptor of a cgroup */
	int cpu;
	int group;		/* descriptor of its leader; -1: it is in no group */
	unsigned long flags;
};

/*
 * Calls perf_event_open(2) for event @event of @ev, or EVENT_SIDE and its likes. Returns a descriptor, owned by
 * the caller, or negative errno without a message. If the kernel's frequency limit has fallen
 * meanwhile, the event gets the lower frequency, and ev->clamped is set.
 */
int event_open(struct events *ev, size_t event, const struct event_place *at);
/*
 * The same for the first time that an event is opened. Features (FEAT_*) that this kernel lacks are
 * detected and removed from ev->feats.
 */
int event_open_probing(struct events *ev, size_t event, const struct event_place *at);

/* The samples of @event, as it was opened. */
void event_layout(const struct events *ev, size_t event, struct sample_layout *l);

/*
 * The fixed period (not 0) of @e where it is opened next. Those of --off-cpu are not all the same: see
 * odd_period.h.
 */
uint64_t event_first_period(const struct events *ev, const struct rec_event *e);

/* 0, or -EINVAL after a message: --strict-freq, and the frequency of an event would be clamped. */
int events_check_freq(const struct record_opts *o, const struct evsel *sels, size_t n);
/*
 * The effective frequency, at most kernel.perf_event_max_sample_rate. Prints a message if it clamps
 * @freq, once (@told).
 */
uint64_t events_clamp_freq(uint64_t freq, bool *told);

#endif
