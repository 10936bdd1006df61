/*
 * perf_event_open(2) over CPUs x (threads | cgroups): one sampling event each, one side-band event
 * for each CPU (or thread and CPU), and two rings for each CPU into which all of them write. CPUs that are not to be sampled have
 * side-band all the same: a process may become another program on one of them and come back.
 */
#ifndef NSPROF_OPEN_H
#define NSPROF_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "events/events.h"

/*
 * Open and map everything for @t; samples are off, side-band is on. @on_exec: the target waits for
 * its exec. 0, or negative errno after one message. Own with events_close() in any case.
 */
int events_open(struct events *ev, const struct record_opts *o, struct target *t,
		const struct evsel *sel, bool on_exec);
void events_close(struct events *ev);

/* What was opened other than asked for. Apart, so that a start that fails says one thing only. */
void events_tell(const struct events *ev);

/*
 * Open the events of the @c-th CPU of target->cpus anew (below nall), into its rings, after it was offline; @enable: switch
 * sampling on there. Not for targets of threads. 0, or negative errno without a message: the CPU then has no events.
 */
int events_reopen_cpu(struct events *ev, uint32_t c, bool enable);

/*
 * Sample @cg, too, on every CPU of the target that is online, into the rings there are; @enable: from now on. It is or
 * becomes one of target->cgroups, so that a CPU that comes back finds it there. Nothing to be opened where cgroups are
 * picked by their ids (by_cgroup_id). 0, or negative errno without a message: then nothing was opened.
 */
int events_add_cgroup(struct events *ev, const struct cgroup *cg, bool enable);
/*
 * Close the events of the cgroup with that id, which was removed; what they counted stays in events_counts(). Those
 * that own a ring stay open.
 */
void events_drop_cgroup(struct events *ev, uint64_t id);

void events_enable(struct events *ev);
/* Samples alone, until events_enable(): what is mapped meanwhile is still told. */
void events_pause(struct events *ev);
void events_disable(struct events *ev);

/*
 * Every recorded thread has ended, and all it started. Always false for CPUs and cgroups. Cheap:
 * looks at one descriptor as long as the thread behind it lives.
 */
bool events_all_gone(struct events *ev);

/*
 * Fill @cpus, target->nall entries that are 0, in the order of target->cpus. What inherited events
 * counted is in. Call it when they are disabled, or it is out of date at once. False when not every event
 * could be read.
 */
bool events_counts(const struct events *ev, struct events_count *cpus);

#endif
