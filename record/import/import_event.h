/* Which events of a perf.data are imported, and how much each of their samples counts. */
#ifndef NSPROF_IMPORT_EVENT_H
#define NSPROF_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/perfdata.h"

/*
 * The name that perf shows, or if the file has none, the one of its number; "event" if unknown.
 * Borrowed.
 */
const char *import_event_name(const struct perfdata_attr *a);

struct import_event {
	/* index in perfdata.attrs + 1; its settings become the recording's; 0: none chosen yet */
	size_t first;
	/*
	 * owned: "cycles" and "P" of "cycles:P"; without PMU names if several PMUs have the event
	 */
	char *name, *modifier;
	/*
	 * event id, with the thread if events are inherited -> its counter at the previous sample
	 */
	struct u64map before;
};

/*
 * Chooses the events and sets their perfdata_attr.taken. @name: with or without modifier, or NULL
 * for the first event that has samples. The same event on several kinds of CPUs
 * ("cpu_core/cycles/", "cpu_atom/cycles/") is one event, "cycles", but either can be chosen by its
 * whole name. 0, or -ENOENT after a message that calls the file @shown.
 */
int import_event_choose(struct import_event *ev, struct perfdata *pd, const char *name, const char *shown);
/* The first chosen event. In a pipe, more events may follow, which moves all of them. */
struct perfdata_attr *import_event_first(const struct import_event *ev, const struct perfdata *pd);

/*
 * Does @r, a sample of a known event, contain counters? They may be those of other events of its
 * group.
 */
bool import_event_counts(const struct perfdata_record *r);
/*
 * For these: sets *@period to how much the chosen event counted since the previous sample. False:
 * the sample belongs to another event, or nothing was counted.
 */
bool import_event_period(struct import_event *ev, const struct perfdata *pd, const struct perfdata_record *r, uint32_t tid,
			 uint64_t *period);

void import_event_fini(struct import_event *ev);

#endif
