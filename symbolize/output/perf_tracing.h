/*
 * What a perf.data says about tracepoints: the section HEADER_TRACING_DATA, as perf copies it from
 * tracefs (tools/perf/util/trace-event-info.c, trace-event-read.c).
 */
#ifndef NSPROF_PERF_TRACING_H
#define NSPROF_PERF_TRACING_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct perf_tracepoint {
	const char *name;	/* "sched:sched_switch", a modifier may follow; borrowed */
	uint64_t id;		/* attr.config */
	const char *fields;	/* lines "field:...", as ev_event.fields; borrowed */
};

/*
 * Bytes that a record needs for its fields, apart from what dynamic ones refer to. 0: it has none
 * that can be read, and perf reads no file with such a tracepoint.
 */
size_t perf_tracing_record(const char *fields);
/*
 * Appends the section for @n tracepoints, which all have fields. Each prints its fields as
 * NAME=VALUE, since recordings do not have the kernel's "print fmt".
 */
void perf_tracing_data(const struct perf_tracepoint *tps, size_t n, struct strbuf *out);

#endif
