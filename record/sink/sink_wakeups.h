/* Threads that are woken: records of the events in wakeup_events.h. */
#ifndef NSPROF_SINK_WAKEUPS_H
#define NSPROF_SINK_WAKEUPS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "sink/sink.h"

/* Takes any record of a ring of wake-ups. */
void sink_wakeups_take(struct sink *s, const struct perf_event_header *h, uint64_t time);

#endif
