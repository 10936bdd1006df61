/* Records other than samples: mappings, processes, names, losses. */
#ifndef NSPROF_SINK_SIDE_H
#define NSPROF_SINK_SIDE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "procs/proctab.h"

struct sink;

/* As sink_record(), for everything but PERF_RECORD_SAMPLE. */
void sink_side_record(struct sink *s, const struct perf_event_header *h, uint64_t time,
		      bool sideband);

/* The same, decoded. Call sink_flush() first: all samples before them have to be in. */
void sink_mmap(struct sink *s, const struct kmmap *m);
void sink_comm(struct sink *s, const struct ev_comm *ev);
void sink_fork(struct sink *s, const struct ev_task *ev);
void sink_exit(struct sink *s, const struct ev_task *ev);
/* A BPF program or trampoline that came or went. */
void sink_ksymbol(struct sink *s, const struct ev_ksymbol *ev);

#endif
