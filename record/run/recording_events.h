/* The events of a recording, as the file describes them. */
#ifndef NSPROF_RECORDING_EVENTS_H
#define NSPROF_RECORDING_EVENTS_H

#include <stdint.h>

#include "event.h"
#include "events/events.h"
#include "recording/rec_writer.h"

/* Event @i of @ev as it is from @time (ns) on. @out borrows from @ev. */
void recording_events_describe(const struct events *ev, size_t i, uint64_t time, struct ev_event *out);

/* Writes all of them, if the file lists its events (events_listed()). 0 or negative errno. */
int recording_events_write(struct rec_writer *w, const struct events *ev, uint64_t time);

#endif
