/*
 * Switches of a perf.data ("perf record --switch-events"): with samples of context-switches, they
 * make off-CPU time.
 */
#ifndef NSPROF_IMPORT_SWITCHES_H
#define NSPROF_IMPORT_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

struct perfdata;
struct perfdata_attr;
struct perfdata_record;
struct rec_writer;
struct sink;

struct import_switches {
	struct ev_switch *v;	/* owned; not written yet */
	size_t n, cap;
};

/* Does any event of @pd ask for switches? */
bool import_switches_asked(const struct perfdata *pd);
/* Are the samples of @a then of threads that leave the CPU? */
bool import_switches_weigh(const struct perfdata_attr *a);
/* Takes a PERF_RECORD_SWITCH or SWITCH_CPU_WIDE, after the samples before it. 0 or negative errno. */
int import_switches_take(struct import_switches *sw, const struct perfdata_record *r, struct sink *sink, struct rec_writer *w);
int import_switches_flush(struct import_switches *sw, struct sink *sink, struct rec_writer *w);
void import_switches_fini(struct import_switches *sw);

#endif
