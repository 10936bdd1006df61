/*
 * What reports when threads go to a CPU and leave it: for each sampling event of --off-cpu one event
 * that counts nothing, with attr.context_switch. Its records are of 40 bytes, or 48 where it is of a
 * whole CPU. All of a CPU share a ring of their own.
 */
#ifndef NSPROF_SWITCH_EVENTS_H
#define NSPROF_SWITCH_EVENTS_H

#include "events/event_attr.h"
#include "events/events.h"

/* All do nothing in recordings without --off-cpu. */

/*
 * Opens it on CPU number @c of the target, for cgroup @cg, or if that is NULL for thread @pid or
 * everything (-1). 0, or negative errno without a message, with *@where it was to be.
 */
int switch_events_open(struct events *ev, int pid, const struct cgroup *cg, uint32_t c, struct event_place *where);
/* The same for a CPU that has its ring already. */
int switch_events_add(struct events *ev, const struct cgroup *cg, uint32_t c);
/* Maps the rings: the first event on each CPU owns it. 0, or negative errno without a message. */
int switch_events_map(struct events *ev);

/* Those from the @first on. */
void switch_events_enable_from(struct events *ev, size_t first);
void switch_events_close_from(struct events *ev, size_t first);
/* Those of the removed cgroup @id, except what owns a ring. */
void switch_events_drop(struct events *ev, uint64_t id);

#endif
