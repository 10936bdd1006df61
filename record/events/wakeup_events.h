/*
 * What reports that threads are woken (--wakeups): the tracepoint sched:sched_waking. It comes in whoever
 * wakes, which may be an interrupt or another container. So it is opened for everything on all CPUs,
 * without stacks, and its reader picks the threads that are wanted. Its records are of 88 bytes. Each
 * CPU has a ring for them.
 */
#ifndef NSPROF_WAKEUP_EVENTS_H
#define NSPROF_WAKEUP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "events/events.h"

/*
 * Finds the tracepoint and its field for the woken thread, which has its number in the first pid
 * namespace. 0, or negative errno after a message.
 */
int wakeup_events_find(struct wakeup_source *src);

/* All that follow do nothing if ev->wakeup_source has no id. */

/*
 * Opens it on all CPUs: off, or on if the exec of a command switches samples on. 0, or negative errno
 * after a message.
 */
int wakeup_events_open(struct events *ev);
/* Maps the rings. 0, or negative errno without a message. */
int wakeup_events_map(struct events *ev);
/* Opens it again on the @c-th CPU, into its ring. 0, or negative errno without a message. */
int wakeup_events_reopen(struct events *ev, uint32_t c, bool enable);

/* Those from the @first on. */
void wakeup_events_enable_from(struct events *ev, size_t first);
void wakeup_events_disable(struct events *ev);

#endif
