/* Which events of a perf.data are taken, and what each sample of them stands for. */
#ifndef NSPROF_IMPORT_EVENT_H
#define NSPROF_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/perfdata.h"

/* As perf shows it, or by its number where the file does not tell; "event" for those we do not know. Borrowed. */
const char *import_event_name(const struct perfdata_attr *a);

struct import_event {
	size_t first;		/* index in perfdata.attrs + 1: its settings are the recording's; 0: none is chosen yet */
	char *name, *modifier;	/* owned: "cycles" and "P" of "cycles:P"; of one event of several PMUs without these */
	struct u64map before;	/* event id, with the thread where events are inherited -> its counter at the sample before */
};

/*
 * Marks those to take, perfdata_attr.taken: @name, with or without its modifier, or NULL for the first that has samples. The same event
 * on several kinds of CPUs ("cpu_core/cycles/", "cpu_atom/cycles/") is one, "cycles", but can be chosen by its whole name. 0, or -ENOENT after a
 * message; @shown is the file's name in it.
 */
int import_event_choose(struct import_event *ev, struct perfdata *pd, const char *name, const char *shown);
/* Of a pipe there may be more to come, and all of them move then. */
struct perfdata_attr *import_event_first(const struct import_event *ev, const struct perfdata *pd);

/* Has @r, a sample of a known event, counters in it, which may be those of another event of its group? */
bool import_event_counts(const struct perfdata_record *r);
/*
 * For these: how much the event that is taken counted since the sample before, which is what this one stands for, in *@period. False: the
 * sample is none of this event's, or it counted nothing.
 */
bool import_event_period(struct import_event *ev, const struct perfdata *pd, const struct perfdata_record *r, uint32_t tid,
			 uint64_t *period);

void import_event_fini(struct import_event *ev);

#endif
