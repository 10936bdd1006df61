/* One event of a recording: its attributes, and what to do when the kernel refuses them. */
#ifndef NSPROF_EVENT_ATTR_H
#define NSPROF_EVENT_ATTR_H

#include "events/events.h"

enum event_kind {
	EVENT_SAMPLES,
	EVENT_SIDE,	/* reports mappings, programs and threads; counts nothing */
};

/*
 * Calls perf_event_open(2) for thread @pid on CPU @cpu. @pid -1: all threads; with
 * PERF_FLAG_PID_CGROUP in @flags, @pid is the descriptor of a cgroup. Returns a descriptor, owned
 * by the caller, or negative errno without a message. If the kernel's frequency limit has fallen
 * meanwhile, the event gets the lower frequency, and ev->clamped is set.
 */
int event_open(struct events *ev, enum event_kind kind, int pid, int cpu, unsigned long flags);
/*
 * The same for the first event of its kind. Features (FEAT_*) that this kernel lacks are detected
 * and removed from ev->feats.
 */
int event_open_probing(struct events *ev, enum event_kind kind, int pid, int cpu, unsigned long flags);

/* 0, or -EINVAL after a message: --strict-freq, and the frequency would be clamped. */
int events_check_freq(const struct record_opts *o, const struct evsel *sel);
/*
 * The effective frequency, at most kernel.perf_event_max_sample_rate. Prints a message if it
 * clamps.
 */
uint64_t events_clamp_freq(const struct evsel *sel);

#endif
