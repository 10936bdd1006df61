/*
 * Layouts: the comments at PERF_RECORD_SWITCH and PERF_RECORD_SWITCH_CPU_WIDE in
 * include/uapi/linux/perf_event.h. The thread that the record is about is that of its id fields in
 * both: perf_event_switch() in kernel/events/core.c runs in the thread that leaves, before the switch,
 * and in the one that comes, after it. The other one is in a record of its own, if it is in the target.
 */
#include "sink/sink_switches.h"

#include <string.h>

#include "base/xalloc.h"
#include "events/perf_layout.h"
#include "host/opener.h"

/* The id fields at the end of the record, from their beginning. */
static void id_fields(const struct perf_event_header *h, struct ev_switch *sw)
{
	const uint8_t *id = (const uint8_t *)h + h->size - LAYOUT_ID_SIZE;

	memcpy(&sw->pid, id, sizeof(sw->pid));
	memcpy(&sw->tid, id + sizeof(sw->pid), sizeof(sw->tid));
	memcpy(&sw->cpu, (const uint8_t *)h + h->size - LAYOUT_ID_CPU, sizeof(sw->cpu));
}

/* What is no thread: the idle task, one outside our pid namespace, one that has ended. */
static bool is_thread(const struct ev_switch *sw)
{
	return (int32_t)sw->pid > 0 && (int32_t)sw->tid > 0;
}

bool sink_switches_own(const struct sink *s, uint32_t pid)
{
	return s->leave_own && (pid == s->own_pid || u64map_get(&s->openers, pid) || opener_owns(pid));
}

static struct sink_cpu *cpu_of(struct sink *s, uint32_t cpu)
{
	while (s->ncpus <= cpu) {
		XGROW(s->cpus, s->ncpus, s->cpus_cap);
		s->cpus[s->ncpus++] = (struct sink_cpu){ 0 };
	}
	return &s->cpus[cpu];
}

static void write_one(struct sink *s, const struct ev_switch *sw)
{
	s->ledger->l.switches++;
	switch_sums_switch(&s->sums, sw);
	sink_written(s, rec_writer_switch(s->w, sw));
}

static void write_woken(struct sink *s, const struct ev_wakeup *ev)
{
	s->ledger->l.wakeups++;
	sink_written(s, rec_writer_wakeup(s->w, ev));
}

/* True if it waits for the samples before it. */
static bool waits(struct sink *s, const struct sink_switch *sw)
{
	if (!sink_pending(s))
		return false;
	XGROW(s->switches, s->nswitches, s->switches_cap);
	s->switches[s->nswitches++] = *sw;
	return true;
}

void sink_switches_woken(struct sink *s, const struct ev_wakeup *ev)
{
	if (!waits(s, &(struct sink_switch){ .is_wakeup = true, .wakeup = *ev }))
		write_woken(s, ev);
}

void sink_switches_begin(struct sink *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	switch_sums_begin(&s->sums, pid, tid, time);
	sink_written(s, rec_writer_schedstat(s->w, &(struct ev_schedstat){ .time = time, .pid = pid, .tid = tid }));
}

void sink_switches_exec(struct sink *s, uint32_t pid, uint64_t time, uint32_t cpu)
{
	const struct ev_switch in = { .time = time, .pid = pid, .tid = pid, .cpu = cpu };

	if (!switch_threads_exec(&s->threads, pid))
		return;
	sink_switches_begin(s, pid, pid, time);
	write_one(s, &in);
}

void sink_switches_take(struct sink *s, const struct perf_event_header *h, uint64_t time)
{
	struct ev_switch sw = {
		.time = time,
		.out = h->misc & PERF_RECORD_MISC_SWITCH_OUT,
		.preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT && h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
	};

	id_fields(h, &sw);
	if (!is_thread(&sw) || sink_switches_own(s, sw.pid))
		return;
	if (switch_threads_switch(&s->threads, &sw))
		sink_switches_begin(s, sw.pid, sw.tid, time);
	if (sw.out)
		cpu_of(s, sw.cpu)->outs++;
	if (s->opts->wakeups)
		woken_threads_switch(&s->woken, &sw);
	if (!waits(s, &(struct sink_switch){ .sw = sw }))
		write_one(s, &sw);
}

void sink_switches_write(struct sink *s)
{
	for (size_t i = 0; i < s->nswitches && !s->err; i++) {
		if (s->switches[i].is_wakeup)
			write_woken(s, &s->switches[i].wakeup);
		else
			write_one(s, &s->switches[i].sw);
	}
	s->nswitches = 0;
}

uint64_t sink_switches_outs(const struct sink *s, uint32_t cpu)
{
	return cpu < s->ncpus ? s->cpus[cpu].outs : 0;
}
