/* Threads that go to a CPU and leave it: records of the events in switch_events.h. */
#ifndef NSPROF_SINK_SWITCHES_H
#define NSPROF_SINK_SWITCHES_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "sink/sink.h"

/* Takes a PERF_RECORD_SWITCH or PERF_RECORD_SWITCH_CPU_WIDE. */
void sink_switches_take(struct sink *s, const struct perf_event_header *h, uint64_t time);
/* Writes a wake-up, in its place among the switches. */
void sink_switches_woken(struct sink *s, const struct ev_wakeup *ev);
/* Writes those that waited for samples. */
void sink_switches_write(struct sink *s);
/* The thread begins at @time, and its switches are recorded: all its times are 0. */
void sink_switches_begin(struct sink *s, uint32_t pid, uint32_t tid, uint64_t time);
/* @pid begins a program at @time, on CPU number @cpu. If this is how it comes into the target, it begins there, and runs. */
void sink_switches_exec(struct sink *s, uint32_t pid, uint64_t time, uint32_t cpu);
/* Ours, and nobody wants to see them? */
bool sink_switches_own(const struct sink *s, uint32_t pid);
/* How often threads have left CPU number @cpu. */
uint64_t sink_switches_outs(const struct sink *s, uint32_t cpu);

#endif
