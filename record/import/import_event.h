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

/* An event of the recording. */
struct import_named {
	size_t attr;		/* index in perfdata.attrs of the first with samples of it */
	/*
	 * owned: "cycles" and "P" of "cycles:P"; without PMU names if several PMUs have the event
	 */
	char *name, *modifier;
};

struct import_event {
	/* owned; [0] describes the recording in its settings; NULL: none chosen yet */
	struct import_named *v;
	uint32_t n;
	/*
	 * event id, with the thread if events are inherited -> its counter at the previous sample
	 */
	struct u64map before;
};

/*
 * Chooses the events, and sets taken and event of struct perfdata_attr. @name: with or without
 * modifier; NULL: all events, beginning with the first that has samples. The same event on several
 * kinds of CPUs ("cpu_core/cycles/", "cpu_atom/cycles/") is one event, "cycles", but either can be
 * chosen by its whole name. 0, or -ENOENT after a message that calls the file @shown.
 */
int import_event_choose(struct import_event *ev, struct perfdata *pd, const char *name, const char *shown);
/* The attr of event 0. In a pipe, more events may follow, which moves all of them. */
struct perfdata_attr *import_event_first(const struct import_event *ev, const struct perfdata *pd);

/*
 * Does @r, a sample of a known event, contain counters? They may be those of other events of its
 * group.
 */
bool import_event_counts(const struct perfdata_record *r);
/* For these: notes whose samples have the counters (perfdata_attr.leader). */
void import_event_look(struct perfdata *pd, const struct perfdata_record *r);
/* One of the events that a sample stands for. */
struct import_part {
	uint32_t event;
	uint64_t period;	/* what it counted since the previous sample; 0: as the sample says */
};
/*
 * For these: the chosen events that counted something since the previous sample, in the order of the
 * counters. Returns their number, at most PERFDATA_READS.
 */
size_t import_event_parts(struct import_event *ev, const struct perfdata *pd, const struct perfdata_record *r, uint32_t tid,
			  struct import_part *out);
/* Describes event @at for the recording; @fields: with those of tracepoints. Texts are borrowed. */
struct ev_event import_event_describe(const struct import_event *ev, const struct perfdata *pd, uint32_t at, bool fields);
/*
 * Sets the fields of @out that say how event @at takes stacks. All of them, as perf does not cut what
 * it unwinds: there, the limit on frames is only for the kernel's part.
 */
void import_event_stacks(const struct import_event *ev, const struct perfdata *pd, uint32_t at, struct ev_event *out);
/* Are its periods ns of CPU time? */
bool import_event_is_clock(const struct perfdata_attr *a);

void import_event_fini(struct import_event *ev);

#endif
