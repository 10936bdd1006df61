#include "sink/sampled_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "events/event_attr.h"
#include "events/perf_layout.h"

/*
 * Payloads lose their text, unless it was asked for. If the format cannot be understood, nothing
 * tells text from numbers.
 */
static void hide_text(struct sampled_event *v, const struct events *ev, const struct rec_event *e)
{
	const char *text = e->sel.format ? e->sel.format : "";

	if (!v->layout.has_raw || ev->opts->payloads == PAYLOADS_ALL)
		return;
	v->hides = true;
	if (tp_format_parse(&v->hidden, text, strlen(text))) {
		tp_format_fini(&v->hidden);
		v->hidden = (struct tp_format){ 0 };
	}
}

/* In a copy, as the kernel does not allow writing to the ring. */
static void mask_payload(struct sampled_events *se, const struct sampled_event *e, struct sample_in *in)
{
	const uint32_t kept = MIN(in->payload_len, PAYLOAD_MAX);
	uint8_t *copy = se->room + se->next * PAYLOAD_MAX;

	if (e->hides && !e->hidden.n) {
		in->payload_len = 0;
		return;
	}
	if (e->hides) {
		/* The whole of it, since text may reach beyond what is kept. */
		memcpy(se->whole, in->payload, in->payload_len);
		tp_format_hide(&e->hidden, se->whole, in->payload_len);
		memcpy(copy, se->whole, kept);
		in->payload = copy;
		se->next = (se->next + 1) % se->slots;
	}
	in->payload_len = kept;
}

/*
 * Each software event that happens is sampled for all that listen to it, out of one struct
 * perf_sample_data (do_perf_sw_event() in kernel/events/core.c). The second one finds the fields filled
 * in, with the id of the first (seen on 6.18). Clocks and tracepoints have their own.
 */
static uint32_t find_mixed(const struct events *ev)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < ev->n; i++) {
		const struct evsel *sel = &ev->v[i].sel;

		if (sel->type != PERF_TYPE_SOFTWARE || evsel_is_clock(sel))
			continue;
		if (found != UINT32_MAX)
			return UINT32_MAX;
		found = i;
	}
	return found;
}

/* The event of a sample with *@id, which is 0 then if the id is not ours. False: nobody opened it. */
static bool own_id(const struct sampled_events *se, uint64_t *id, struct event_id *found)
{
	if (event_ids_find(&se->open->ids, *id, found))
		return true;
	*id = 0;
	*found = (struct event_id){ .event = se->mixed };
	return se->mixed != UINT32_MAX;
}

struct sampled_events *sampled_events_new(const struct events *ev, size_t slots)
{
	struct sampled_events *se = xcalloc(1, sizeof(*se));

	se->open = ev;
	se->slots = slots;
	se->mixed = find_mixed(ev);
	if (ev->opts->payloads == PAYLOADS_NUMBERS)
		se->room = xmalloc(slots * PAYLOAD_MAX);
	if (se->room)
		se->whole = xmalloc(LAYOUT_RECORD_MAX);
	se->v = xcalloc(ev->n, sizeof(*se->v));
	se->by_thread = target_is_tasks(ev->target) && !ev->opts->no_inherit;
	event_budget_init(&se->budget, events_budget(ev), ev->n);
	for (size_t i = 0; i < ev->n; i++) {
		const struct rec_event *e = &ev->v[i];
		struct sampled_event *v = &se->v[i];

		event_layout(ev, i, &v->layout);
		/* Its count alone says what a sample stands for. */
		if (e->counted && e->sel.waits)
			v->layout.period = UINT32_MAX;
		v->before = v->layout.period;
		v->size = e->record_bytes;
		v->spare = e->unbounded && events_split(ev);
		se->budget.ev[i].thins = events_thins(ev, i);
		hide_text(v, ev, e);
	}
	return se;
}

void sampled_events_free(struct sampled_events *se)
{
	if (!se)
		return;
	for (size_t i = 0; i < se->open->n; i++)
		tp_format_fini(&se->v[i].hidden);
	event_budget_fini(&se->budget);
	u64map_fini(&se->counts);
	u64map_fini(&se->waits);
	free(se->room);
	free(se->whole);
	free(se->v);
	free(se);
}

static uint64_t word(const struct perf_event_header *h, size_t off)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)h + off, sizeof(v));
	return v;
}

/* How much event @key counted since its last sample; @count is its counter now. */
static uint64_t since_last(struct sampled_events *se, uint64_t key, uint64_t count)
{
	uint64_t *last = u64map_put(&se->counts, key, NULL);
	const uint64_t since = count > *last ? count - *last : 0;

	*last = count;
	return since;
}

enum sampled sampled_events_parse(struct sampled_events *se, const struct perf_event_header *h, struct raw_sample *raw)
{
	struct sample_in *in = &raw->in;
	struct sample_layout l;
	struct sampled_event *e;
	struct event_id id;
	uint64_t key;

	in->event = 0;
	in->payload_len = 0;
	raw->nreads = 0;
	if (h->size < LAYOUT_SAMPLE_MIN)
		return SAMPLED_BAD;
	in->time = word(h, LAYOUT_SAMPLE_TIME);
	in->cpu = (uint32_t)word(h, LAYOUT_SAMPLE_CPU);
	key = word(h, sizeof(*h));
	if (!own_id(se, &key, &id))
		return SAMPLED_BAD;
	in->event = id.event;
	e = &se->v[id.event];
	e->size = h->size;
	l = e->layout;
	if (l.period && in->time < id.since)
		l.period = e->before;
	if (sample_parse(h, &l, raw))
		return SAMPLED_BAD;
	if (key && se->open->v[id.event].sel.waits)
		++*u64map_put(&se->waits, key, NULL);
	/*
	 * More than a period: samples in between were lost, and count as such. With a period of 1 each
	 * stands for itself, also if an interrupt had one of its own before the count was read.
	 */
	if (l.has_count) {
		/* Nothing tells of which descriptor the count is, if the id does not. */
		const uint64_t since = key ? since_last(se, key, raw->count) : 1;

		if (in->period > 1)
			in->period = MIN(in->period, since);
	}
	in->period += e->held;
	e->held = 0;
	if (e->shift && e->turn++ & ((1ull << e->shift) - 1)) {
		e->held = in->period;
		return SAMPLED_THINNED;
	}
	event_budget_take(&se->budget, in->cpu, id.event, in->time, h->size);
	if (!in->period)
		return SAMPLED_THINNED;
	if (in->payload_len)
		mask_payload(se, e, in);
	return SAMPLED_TAKEN;
}

bool sampled_events_member(struct sampled_events *se, const struct raw_sample *lead, uint32_t i, uint32_t *event, uint64_t *n)
{
	const uint64_t *r = lead->reads + (size_t)i * (se->v[lead->in.event].layout.has_lost ? 3 : 2);
	uint64_t key = r[1];
	struct event_id id;

	if (!event_ids_find(&se->open->ids, r[1], &id) || id.event == lead->in.event)
		return false;
	/* Linux 6.12 counts inherited events by thread. */
	if (se->by_thread)
		key = hash_combine(key, lead->in.tid);
	*event = id.event;
	*n = since_last(se, key, r[0]);
	return *n;
}

bool sampled_events_knows(const struct sampled_events *se, uint64_t id)
{
	struct event_id found;

	return event_ids_find(&se->open->ids, id, &found);
}

uint32_t sampled_events_of(const struct sampled_events *se, uint64_t id)
{
	struct event_id found;

	return event_ids_find(&se->open->ids, id, &found) ? found.event : 0;
}

uint64_t sampled_events_waits(const struct sampled_events *se, uint64_t id)
{
	const uint64_t *n = u64map_get(&se->waits, id);

	return n ? *n : 0;
}

void sampled_events_lost(struct sampled_events *se, uint32_t cpu, uint32_t event, uint64_t time, uint64_t n)
{
	const struct sampled_event *e = &se->v[event];

	event_budget_lost(&se->budget, cpu, event, time, (n * e->size) >> e->shift);
}

void sampled_events_period(struct sampled_events *se, uint32_t event, uint64_t period)
{
	struct sampled_event *e = &se->v[event];

	e->before = e->layout.period;
	e->layout.period = period;
}

void sampled_events_shift(struct sampled_events *se, uint32_t event, uint32_t shift)
{
	se->v[event].shift = shift;
	se->v[event].turn = 0;
}
