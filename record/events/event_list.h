/* Which events a recording has: from what was asked for to what could be opened. */
#ifndef NSPROF_EVENT_LIST_H
#define NSPROF_EVENT_LIST_H

#include "events/events.h"

/* Fills ev->v. Frequencies above the kernel's limit are lowered, with a message. */
void event_list_init(struct events *ev, const struct evsel *sels, size_t n);
void event_list_fini(struct events *ev);

/* Is an event that counts the same as @sel, but is another one, in the list? */
bool event_list_has(const struct events *ev, const struct evsel *sel);
/* Is there an event that is not left out, beside @event and those that it leads? */
bool event_list_others(const struct events *ev, size_t event);

/* What @el left out is also left out of the recording. */
void event_list_left(struct events *ev, const struct evlist *el);
/*
 * Leaves out @event and those that it leads. @err: why, as negative errno; @why: the message about
 * it. They stay in the list until event_list_settle().
 */
void event_list_leave_out(struct events *ev, size_t event, int err, const char *why);
/*
 * When everything was opened: takes over what became known of the events by that, and removes those
 * that were left out. True if there were any: the others have to be opened again.
 */
bool event_list_settle(struct events *ev);

#endif
