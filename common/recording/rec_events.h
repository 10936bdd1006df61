/*
 * The events of a recording. A recording of one plain event describes it in its settings
 * (rec_reader_info()); here it looks like the others.
 */
#ifndef NSPROF_REC_EVENTS_H
#define NSPROF_REC_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_pick.h"
#include "event.h"
#include "recording/event_table.h"

struct rec_reader;

#define REC_EVENTS_ALL UINT32_MAX	/* in place of an index */

#define REC_EVENTS_OFF_CPU "off-cpu"	/* name of the event of ROLE_WAITS */
#define REC_EVENTS_WALL "wall"		/* of ROLE_WALL */

struct rec_events {
	/* At least one; as the recording began, also with stacks as the settings say; "" = unknown. */
	struct event_table table;
	bool plain;		/* the settings describe the only event */
};

/*
 * Fills @t, zeroed. Reads a recording that is not plain up to its first sample. 0, or negative errno
 * after a message.
 */
int rec_events_read(struct rec_events *t, struct rec_reader *r);
void rec_events_fini(struct rec_events *t);
/* How many of them, from the first one on, are in the recording: not ROLE_WALL. */
uint32_t rec_events_recorded(const struct rec_events *t);
/*
 * The first event that has samples; 0 if none has. A pattern names many events that never come. Reads
 * @r up to a sample of the first event, so all of it if there is none.
 */
uint32_t rec_events_first(const struct rec_events *t, struct rec_reader *r);
/*
 * The event that @name means (event_pick()). Returns its index, or -ENOENT after a message that calls
 * the recording @shown.
 */
int rec_events_pick(const struct rec_events *t, const char *name, const char *shown);
/* event_pick_tell() for the event @at. */
void rec_events_tell(const struct rec_events *t, uint32_t at, const char *shown, const char *also);
struct event_label rec_events_label(const struct ev_event *ev);
/* Fills in what the settings say about stacks where an event of @t says nothing itself. */
void rec_events_stacks(struct event_table *t, const struct rec_reader *r);
/* "dwarf", "fp" or "none": the setting call_graph for @how. "": it is none of these. Static. */
const char *rec_events_callgraph(uint32_t how);
/* Are its periods ns of CPU time? */
bool rec_events_is_clock(const struct ev_event *ev);
/*
 * Is each period a time that was measured, as perf's offcpu-time and sched:sched_stat_runtime have it?
 * Then a number of samples says nothing, even if all periods are the same.
 */
bool rec_events_is_measured(const struct ev_event *ev);

#endif
