/*
 * perf_event_open(2) over CPUs x (threads | cgroups): all events of the recording for each, and one
 * side-band event for each CPU (or thread and CPU). All write into two rings per CPU, or into three
 * if some events are unbounded and others are not. CPUs that are not sampled have side-band, too: a
 * process may become another program on one of them and come back.
 */
#ifndef NSPROF_OPEN_H
#define NSPROF_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "events/events.h"

/*
 * Opens and maps everything for @t and the @n events @sels. Afterwards, samples are off and
 * side-band is on. @wakeups: of wakeup_events_find(); NULL: none are recorded. @on_exec: the target
 * waits for its exec. 0, or negative errno after one message. Release with events_close() in any case.
 */
int events_open(struct events *ev, const struct record_opts *o, struct target *t,
		const struct evsel *sels, size_t n, const struct wakeup_source *wakeups, bool on_exec);
void events_close(struct events *ev);

/*
 * Reports differences from what was requested. Separate, so that a failed start prints only one
 * message.
 */
void events_tell(const struct events *ev);

/*
 * Opens the events of the @c-th CPU of target->cpus (below nall) again, into its rings, after it
 * was offline. @enable: start sampling there. Not for targets of threads. 0, or negative errno
 * without a message: then the CPU has no events.
 */
int events_reopen_cpu(struct events *ev, uint32_t c, bool enable);

/*
 * Also samples @cg, on every online CPU of the target, into the existing rings. @enable: from now
 * on. @cg must be or become one of target->cgroups, so that a CPU that comes back finds it there.
 * Opens nothing if cgroups are picked by id (by_cgroup_id). 0, or negative errno without a message:
 * then nothing was opened.
 */
int events_add_cgroup(struct events *ev, const struct cgroup *cg, bool enable);
/*
 * Closes the events of the removed cgroup @id. Their counts stay in events_counts(). Events that
 * own a ring stay open.
 */
void events_drop_cgroup(struct events *ev, uint64_t id);

void events_enable(struct events *ev);
/* The end is near: no more samples. Switches and mappings are reported until events_disable(). */
void events_stop_samples(struct events *ev);
/* Disables only samples and switches, until events_enable(). Mappings are still reported. */
void events_pause(struct events *ev);
void events_disable(struct events *ev);

/*
 * Have all recorded threads and all that they started ended? Always false for CPUs and cgroups.
 * Cheap: polls only one descriptor while its thread lives.
 */
bool events_all_gone(struct events *ev);

/*
 * Fills @counts, zeroed by the caller: for each event in turn target->nall entries, in the order of
 * target->cpus. Losses of side-band are in the first event's. Includes the counts of inherited
 * events. Call it when events are disabled, as otherwise the counts go on rising. False if some
 * event could not be read.
 */
bool events_counts(const struct events *ev, struct events_count *counts);

/* Records that @fd, which is no group's leader, had no room for. 0 without FEAT_FORMAT_LOST. */
uint64_t events_lost(const struct events *ev, int fd);

/*
 * Can the period of events that are open be changed? Inherited events keep that of their parent at
 * the time when their thread began (_perf_event_period() in kernel/events/core.c changes only the
 * event itself), so a sample would not tell which one it has.
 */
bool events_can_set_period(const struct events *ev);
/*
 * Changes the period of @event, on all CPUs. Those that are opened later have it, too. The time of
 * the change is noted at the ids. 0, or negative errno without a message if some kept the old one.
 */
int events_set_period(struct events *ev, size_t event, uint64_t period);

#endif
