#include "recording/rec_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "recording.h"
#include "recording/rec_reader.h"

/* In a damaged recording, what does not fit is left out. */
static int on_event(void *ctx, const struct ev_event *ev)
{
	event_table_put(ctx, ev);
	return 0;
}

/* All events precede the first sample. */
enum { ALL_READ = 1 };

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	(void)ctx;
	(void)ev;
	return ALL_READ;
}

static uint64_t number(const struct rec_reader *r, const char *key)
{
	const char *v = rec_reader_info(r, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

/* Also if a damaged recording has lost its events. */
static void put_plain(struct rec_events *t, const struct rec_reader *r)
{
	const char *name = rec_reader_info(r, "event"), *modifier = rec_reader_info(r, "event_modifier");

	t->plain = true;
	event_table_put(&t->table, &(struct ev_event){
		.type = PERF_TYPE_RAW, .name = name, .modifier = modifier, .unit = !name || event_is_clock(name) ? "ns" : "",
		.freq = number(r, "frequency"), .period = number(r, "period"),
	});
}

static const char *const callgraph_names[] = {
	[CALLGRAPH_NONE] = "none", [CALLGRAPH_FP] = "fp", [CALLGRAPH_DWARF] = "dwarf",
};

const char *rec_events_callgraph(uint32_t how)
{
	return how < ARRAY_SIZE(callgraph_names) && callgraph_names[how] ? callgraph_names[how] : "";
}

void rec_events_stacks(struct event_table *t, const struct rec_reader *r)
{
	const char *how = rec_reader_info(r, "call_graph");
	uint32_t callgraph = CALLGRAPH_UNSET;

	for (uint32_t i = CALLGRAPH_NONE; i < ARRAY_SIZE(callgraph_names); i++)
		if (how && !strcmp(how, callgraph_names[i]))
			callgraph = i;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->ev[i].callgraph != CALLGRAPH_UNSET)
			continue;
		t->ev[i].callgraph = callgraph;
		t->ev[i].dump_size = (uint32_t)number(r, "dump_size");
		t->ev[i].max_stack = (uint32_t)number(r, "max_stack");
	}
}

/* A clock and the time off the CPU together are all of a thread's time. */
static void add_wall(struct event_table *t)
{
	uint32_t clock = UINT32_MAX;
	bool waits = false;

	for (uint32_t i = t->n; i--;) {
		waits |= t->ev[i].role == ROLE_WAITS;
		if (t->ev[i].role == ROLE_SAMPLES && rec_events_is_clock(&t->ev[i]) && !rec_events_is_measured(&t->ev[i]))
			clock = i;
	}
	if (waits && clock != UINT32_MAX)
		event_table_put(t, &(struct ev_event){
			.index = t->n, .role = ROLE_WALL, .leader = clock, .type = PERF_TYPE_RAW,
			.name = REC_EVENTS_WALL, .modifier = t->ev[clock].modifier, .unit = "ns", .filter = "", .fields = "",
			.callgraph = t->ev[clock].callgraph, .dump_size = t->ev[clock].dump_size, .max_stack = t->ev[clock].max_stack,
		});
}

int rec_events_read(struct rec_events *t, struct rec_reader *r)
{
	static const struct event_ops ops = { .event = on_event, .sample = on_sample };
	int err = rec_reader_version(r) == REC_VERSION_PLAIN ? 0 : rec_reader_events(r, &ops, &t->table);

	if (err < 0)
		return err;
	if (!t->table.n)
		put_plain(t, r);
	rec_events_stacks(&t->table, r);
	add_wall(&t->table);
	return 0;
}

void rec_events_fini(struct rec_events *t)
{
	event_table_fini(&t->table);
}

uint32_t rec_events_recorded(const struct rec_events *t)
{
	const uint32_t n = t->table.n;

	return n && t->table.ev[n - 1].role == ROLE_WALL ? n - 1 : n;
}

struct event_label rec_events_label(const struct ev_event *ev)
{
	return (struct event_label){ ev->name, ev->modifier };
}

/* What a pass over the samples has found so far. */
struct seen {
	uint32_t n, first;	/* events; the first one that has a sample */
};

static int look_at(void *ctx, const struct ev_sample *ev)
{
	struct seen *s = ctx;

	if (ev->event < s->first)
		s->first = ev->event;
	return !s->first;
}

uint32_t rec_events_first(const struct rec_events *t, struct rec_reader *r)
{
	static const struct event_ops ops = { .sample = look_at };
	struct seen s = { .n = t->table.n, .first = t->table.n };

	if (t->table.n > 1)
		rec_reader_events(r, &ops, &s);
	return s.first < t->table.n ? s.first : 0;
}

/* Owned by the caller. */
static struct event_label *labels(const struct rec_events *t)
{
	struct event_label *v = xcalloc(t->table.n, sizeof(*v));

	for (size_t i = 0; i < t->table.n; i++)
		v[i] = rec_events_label(&t->table.ev[i]);
	return v;
}

int rec_events_pick(const struct rec_events *t, const char *name, const char *shown)
{
	struct event_label *v = labels(t);
	int at = event_pick(v, t->table.n, name, shown);

	free(v);
	return at;
}

void rec_events_tell(const struct rec_events *t, uint32_t at, const char *shown, const char *also)
{
	struct event_label *v = labels(t);

	event_pick_tell(v, t->table.n, at, shown, also);
	free(v);
}

bool rec_events_is_clock(const struct ev_event *ev)
{
	return !strcmp(ev->unit, "ns");
}

bool rec_events_is_measured(const struct ev_event *ev)
{
	/* No clock has a period of 1 ns. */
	return rec_events_is_clock(ev) && ev->role == ROLE_SAMPLES && !ev->freq && ev->period <= 1;
}
