/* Layouts: the comments at enum perf_event_type in include/uapi/linux/perf_event.h. */
#include "sink/sink_side.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/cursor.h"
#include "events/perf_layout.h"
#include "host/opener.h"
#include "sink/sink.h"
#include "sink/sink_switches.h"

void sink_mmap(struct sink *s, const struct kmmap *m)
{
	seen_addrs_forget(s->seen, m->pid);
	proctab_mmap(s->pt, m);
}

void sink_comm(struct sink *s, const struct ev_comm *ev)
{
	if (ev->exec)
		seen_addrs_forget(s->seen, ev->pid);
	if (ev->exec && s->cgroups.facts)
		cgroup_facts_exec(s->cgroups.facts, ev->pid);
	proctab_comm(s->pt, ev);
}

void sink_fork(struct sink *s, const struct ev_task *ev)
{
	bool ours;

	/* A thread changes no mappings; a process begins or ends with its first one. */
	if (ev->pid == ev->tid) {
		seen_addrs_forget(s->seen, ev->pid);
		/* An opener runs before its number is known here. What its parent forks is one. */
		if (opener_owns(ev->ppid))
			u64map_put(&s->openers, ev->pid, NULL);
		else
			u64map_del(&s->openers, ev->pid);
	}
	s->begun++;
	ours = !sink_switches_own(s, ev->pid) && switch_threads_fork(&s->threads, ev);
	if (proctab_fork(s->pt, ev)) {
		switch_threads_found(&s->threads, ev->pid, ev->tid);
		if (s->threads.on)
			switch_sums_begin(&s->sums, ev->pid, ev->tid, ev->time);
	} else if (ours) {
		sink_switches_begin(s, ev->pid, ev->tid, ev->time);
	}
}

void sink_exit(struct sink *s, const struct ev_task *ev)
{
	bool written;

	if (ev->pid == ev->tid)
		seen_addrs_forget(s->seen, ev->pid);
	if (s->cgroups.facts && ev->pid == ev->tid)
		cgroup_facts_exit(s->cgroups.facts, proctab_cgroup(s->pt, ev->pid));
	s->ended++;
	woken_threads_exit(&s->woken, ev->tid);
	written = proctab_exit(s->pt, ev);
	if (s->threads.on)
		switch_sums_exit(&s->sums, ev);
	if (switch_threads_exit(&s->threads, ev) && !written && !sink_switches_own(s, ev->pid))
		sink_written(s, rec_writer_exit(s->w, ev));
}

void sink_ksymbol(struct sink *s, const struct ev_ksymbol *ev)
{
	seen_addrs_forget(s->seen, SEEN_ADDRS_KERNEL);
	sink_ksyms_take(&s->ksyms, ev);
	sink_written(s, rec_writer_ksymbol(s->w, ev));
}

static void side_mmap(struct sink *s, struct cursor *c, uint64_t time)
{
	struct kmmap m = { .time = time };

	m.pid = cursor_u32(c);
	m.tid = cursor_u32(c);
	m.start = cursor_u64(c);
	m.len = cursor_u64(c);
	m.pgoff = cursor_u64(c);
	/*
	 * Ignore a build-id flag in the header. We do not ask for build-ids: it is another
	 * listener's.
	 */
	m.dev_major = cursor_u32(c);
	m.dev_minor = cursor_u32(c);
	m.ino = cursor_u64(c);
	m.ino_gen = cursor_u64(c);
	m.prot = cursor_u32(c);
	m.flags = cursor_u32(c);
	m.path = cursor_cstr(c);
	if (cursor_ok(c))
		sink_mmap(s, &m);
}

static uint32_t record_cpu(const struct perf_event_header *h)
{
	uint32_t cpu;

	memcpy(&cpu, (const uint8_t *)h + h->size - LAYOUT_ID_CPU, sizeof(cpu));
	return cpu;
}

static void side_comm(struct sink *s, const struct perf_event_header *h, struct cursor *c,
		      uint64_t time)
{
	struct ev_comm ev = { .time = time };

	ev.pid = cursor_u32(c);
	ev.tid = cursor_u32(c);
	ev.comm = cursor_cstr(c);
	ev.exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
	if (!cursor_ok(c))
		return;
	if (ev.exec)
		sink_switches_exec(s, ev.pid, time, record_cpu(h));
	sink_comm(s, &ev);
}

static void side_task(struct sink *s, const struct perf_event_header *h, struct cursor *c,
		      uint64_t time)
{
	struct ev_task ev = { .time = time };

	ev.pid = cursor_u32(c);
	ev.ppid = cursor_u32(c);
	ev.tid = cursor_u32(c);
	ev.ptid = cursor_u32(c);
	if (!cursor_ok(c))
		return;
	if (h->type == PERF_RECORD_FORK)
		sink_fork(s, &ev);
	else
		sink_exit(s, &ev);
}

static void side_namespaces(struct sink *s, struct cursor *c)
{
	uint64_t ino[NR_NAMESPACES] = { 0 };
	uint32_t pid = cursor_u32(c);
	uint64_t n;

	cursor_skip(c, 4);
	n = cursor_u64(c);
	for (uint64_t i = 0; i < n && i < NR_NAMESPACES; i++) {
		cursor_skip(c, 8);	/* device of nsfs: the same for all */
		ino[i] = cursor_u64(c);
	}
	if (cursor_ok(c))
		proctab_namespaces(s->pt, pid, ino[MNT_NS_INDEX], ino[PID_NS_INDEX],
				   ino[USER_NS_INDEX]);
}

static void side_ksymbol(struct sink *s, struct cursor *c, uint64_t time)
{
	struct ev_ksymbol ev = { .time = time };

	ev.addr = cursor_u64(c);
	ev.len = cursor_u32(c);
	cursor_skip(c, 2);		/* BPF or out-of-line code: both have names */
	ev.gone = cursor_u16(c) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	ev.name = cursor_cstr(c);
	if (!cursor_ok(c))
		return;
	sink_ksymbol(s, &ev);
}

static void side_cgroup(struct sink *s, struct cursor *c)
{
	uint64_t id = cursor_u64(c);
	const char *path = cursor_cstr(c);

	if (!cursor_ok(c))
		return;
	sink_cgroups_made(&s->cgroups, id, path);
}

static uint64_t record_id(const struct perf_event_header *h)
{
	uint64_t id;

	memcpy(&id, (const uint8_t *)h + h->size - sizeof(id), sizeof(id));
	return id;
}

static uint32_t event_of(const struct sink *s, uint64_t id)
{
	return s->events ? sampled_events_of(s->events, id) : 0;
}

static void side_lost(struct sink *s, const struct perf_event_header *h, struct cursor *c,
		      uint64_t time, bool sideband)
{
	const uint64_t id = cursor_u64(c), n = cursor_u64(c);

	if (!sideband && s->events && !sampled_events_knows(s->events, id)) {
		/* No sample: an event that reports switches. */
		s->ledger->switches_told += n;
		return;
	}
	if (!sideband) {
		ledger_lost(s->ledger, record_cpu(h), event_of(s, id), time, n);
		if (s->events)
			sampled_events_lost(s->events, record_cpu(h), event_of(s, id), time, n);
		if (!s->shared_side)
			return;
	} else {
		ledger_lost_side(s->ledger, record_cpu(h), time, n);
	}
	proctab_lost(s->pt);
	seen_addrs_forget_all(s->seen);
}

static void side_throttle(struct sink *s, const struct perf_event_header *h, struct cursor *c,
			  uint64_t time)
{
	uint64_t id;

	/* Skip its time. The ID of the event that it was inherited from, and its own one follow. */
	cursor_skip(c, 8);
	id = cursor_u64(c);
	ledger_throttle(s->ledger, record_cpu(h), event_of(s, id), time, cursor_u64(c), h->type == PERF_RECORD_THROTTLE);
}

/*
 * Mappings and names of all processes outside our pid namespace come with pid 0: ignore all of
 * them.
 */
static bool outside(const struct perf_event_header *h, const struct cursor *body)
{
	struct cursor c = *body;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_NAMESPACES:
		return !cursor_u32(&c);
	default:
		return false;
	}
}

void sink_side_record(struct sink *s, const struct perf_event_header *h, uint64_t time,
		      bool sideband)
{
	struct cursor c;

	/* Strings are padded with NULs and end before the id fields. */
	cursor_init(&c, h + 1, h->size - sizeof(*h) - LAYOUT_ID_SIZE);
	if (outside(h, &c))
		return;
	switch (h->type) {
	case PERF_RECORD_MMAP2:
		side_mmap(s, &c, time);
		break;
	case PERF_RECORD_COMM:
		side_comm(s, h, &c, time);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		side_task(s, h, &c, time);
		break;
	case PERF_RECORD_NAMESPACES:
		side_namespaces(s, &c);
		break;
	case PERF_RECORD_KSYMBOL:
		side_ksymbol(s, &c, time);
		break;
	case PERF_RECORD_CGROUP:
		side_cgroup(s, &c);
		break;
	case PERF_RECORD_LOST:
		side_lost(s, h, &c, time, sideband);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		ledger_lost_pmu(s->ledger, record_cpu(h), event_of(s, record_id(h)), time, cursor_u64(&c));
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		side_throttle(s, h, &c, time);
		break;
	default:
		break;		/* what newer kernels may add */
	}
}
