/* The events of a recording, for `nsprof info`: how each was sampled, and what it counted and lost. */
#ifndef NSPROF_INFO_EVENTS_H
#define NSPROF_INFO_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bytes/json.h"
#include "event.h"
#include "recording/event_table.h"

/* A new period of an event. */
struct info_period {
	uint32_t event;
	uint64_t time, period;
};

struct info_events {	/* zeroed: a recording of one plain event */
	bool tasks;			/* events belong to threads, not to CPUs or cgroups */
	/* As each was first described; at the end, stacks are as the settings say where the event does not. */
	struct event_table table;
	uint64_t *samples;		/* owned; by event: those in the file */
	struct info_period *changes;	/* owned; in the order of time */
	size_t nchanges, cap_changes;
};

void info_events_add(struct info_events *ie, const struct ev_event *ev);
static inline void info_events_sample(struct info_events *ie, const struct ev_sample *ev)
{
	if (ev->event < ie->table.n)
		ie->samples[ev->event]++;
}
void info_events_fini(struct info_events *ie);

/*
 * @counts: all @n rows of COUNTS. @lost_known: they tell what each event lost. @start: of the recording,
 * ns of CLOCK_MONOTONIC.
 */
void info_events_text(const struct info_events *ie, const struct ev_counts *counts, size_t n, bool lost_known, uint64_t start,
		      FILE *to);
/* Writes "events" into the open object. */
void info_events_json(const struct info_events *ie, const struct ev_counts *counts, size_t n, bool lost_known, uint64_t start,
		      struct json *j);

#endif
