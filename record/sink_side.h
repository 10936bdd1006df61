/* Records that are no samples: mappings, processes, names, losses. */
#ifndef NSPROF_SINK_SIDE_H
#define NSPROF_SINK_SIDE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct sink;

/* As sink_record(), for everything but PERF_RECORD_SAMPLE. */
void sink_side_record(struct sink *s, const struct perf_event_header *h, uint64_t time,
		      bool sideband);

#endif
