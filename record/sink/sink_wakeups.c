/* Layout: PERF_RECORD_SAMPLE and PERF_RECORD_LOST in include/uapi/linux/perf_event.h. */
#include "sink/sink_wakeups.h"

#include <string.h>

#include "base/cursor.h"
#include "events/perf_layout.h"
#include "sink/sink_switches.h"

/* The number of the woken thread; 0: it is not in the record. */
static uint32_t woken_tid(const struct sink *s, struct cursor *c)
{
	const uint32_t size = cursor_u32(c);
	const uint8_t *payload = size <= cursor_left(c) ? cursor_bytes(c, size) : NULL;
	uint32_t tid = 0;

	if (payload && size >= sizeof(tid) && s->woken_at <= size - sizeof(tid))
		memcpy(&tid, payload + s->woken_at, sizeof(tid));
	return tid;
}

static void take_one(struct sink *s, const struct perf_event_header *h, uint64_t time)
{
	struct ev_wakeup ev = { .time = time };
	struct cursor c;

	if (h->size < LAYOUT_SAMPLE_MIN)
		return;
	cursor_init(&c, (const uint8_t *)h + LAYOUT_SAMPLE_CPU, h->size - LAYOUT_SAMPLE_CPU);
	ev.cpu = cursor_u32(&c);
	cursor_skip(&c, 4);
	ev.tid = woken_tid(s, &c);
	if (woken_threads_wake(&s->woken, ev.tid, &ev.pid))
		sink_switches_woken(s, &ev);
}

void sink_wakeups_take(struct sink *s, const struct perf_event_header *h, uint64_t time)
{
	struct cursor c;

	if (s->err)
		return;
	if (h->type == PERF_RECORD_SAMPLE) {
		take_one(s, h, time);
	} else if (h->type == PERF_RECORD_LOST) {
		cursor_init(&c, h + 1, h->size - sizeof(*h));
		cursor_skip(&c, 8);	/* id */
		s->ledger->wakeups_told += cursor_u64(&c);
	}
}
