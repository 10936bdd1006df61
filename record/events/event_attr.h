/* One event of a recording: what the kernel is asked for, and what is done when it refuses. */
#ifndef NSPROF_EVENT_ATTR_H
#define NSPROF_EVENT_ATTR_H

#include "events/events.h"

enum event_kind {
	EVENT_SAMPLES,
	EVENT_SIDE,	/* tells of mappings, programs, threads; counts nothing */
};

/*
 * perf_event_open(2) of thread @pid (-1: all; with PERF_FLAG_PID_CGROUP in @flags the descriptor of a cgroup) on CPU @cpu. A
 * descriptor that the caller owns, or negative errno without a message. Where the kernel allows only a lower frequency
 * by now, the event has that one, and ev->clamped says so.
 */
int event_open(struct events *ev, enum event_kind kind, int pid, int cpu, unsigned long flags);
/*
 * The same for the first event of its kind: what this kernel lacks (FEAT_*) is found out on the way and taken out of ev->feats.
 */
int event_open_probing(struct events *ev, enum event_kind kind, int pid, int cpu, unsigned long flags);

/* 0, or -EINVAL after a message: --strict-freq, and it would be clamped. */
int events_check_freq(const struct record_opts *o);
/* The frequency in force, from kernel.perf_event_max_sample_rate; says so when it clamps. */
uint64_t events_clamp_freq(const struct record_opts *o);

#endif
