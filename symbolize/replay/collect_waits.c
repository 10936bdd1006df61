/* Holds samples until their weight is known (collect_waits.h). collect_states.c counts them. */
#include "replay/collect_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "recording/ctr_table.h"
#include "recording/rec_events.h"
#include "replay/collect.h"
#include "replay/collect_priv.h"
#include "replay/collect_waits_priv.h"
#include "replay/sample_cgroups.h"
#include "replay/sample_filter.h"

#define NO_IMAGE UINT32_MAX

/* ---- life cycle ---- */

static uint64_t within(const void *ctx, uint64_t from, uint64_t to)
{
	const struct collect_waits *cw = ctx;

	return time_windows_within(&cw->windows, from, to);
}

/* With opts.each, a sample is not counted together with others: its period is its own wait. */
static void on_closed(void *ctx, uint32_t stack, uint64_t ns)
{
	struct collect_waits *cw = ctx;
	struct collect *c = cw->c;

	if (c->opts.each && cw->held[stack].seen.slot)
		c->each[c->spread.slots[cw->held[stack].seen.slot].block].period = ns;
}

/*
 * What is known about a thread when its life ends also leads its waits without a sample. Only a
 * share that has seen all events, and will have all samples, needs it.
 */
static void on_ended(void *ctx, uint32_t life)
{
	struct collect_waits *cw = ctx;
	struct collect *c = cw->c;
	size_t n;
	const struct cpu_thread *th = &cpu_times_threads(waits_times(cw->waits), &n)[life];
	const struct ev_sample ev = { .time = th->end, .pid = th->pid, .tid = th->tid, .event = cw->event };
	struct wait_lead lead = { .kind = LEAD_UNKNOWN };
	struct replay_sample s;

	if (c->share)
		return;
	while (cw->nleads <= life) {
		XGROW(cw->leads, cw->nleads, cw->leads_cap);
		cw->leads[cw->nleads++] = lead;
	}
	if (replay_thread(c->rp, &ev, &s)) {
		struct lead_node *ln = collect_lead(c, &s);

		lead.kind = ln->misses != FILTER_TIME ? LEAD_HIDDEN : s.img->kernel && !c->opts.all_waits ? LEAD_KERNEL : LEAD_KNOWN;
		if (lead.kind == LEAD_KNOWN) {
			lead.node = ln->node;
			lead.thread = c->opts.block_ns ? collect_thread(c, &s, ln) : 0;
		}
	}
	cw->leads[life] = lead;
}

void collect_waits_init(struct collect *c)
{
	const struct rec_events *events = c->opts.events;
	struct collect_waits *cw;
	struct waits_opts opts = {
		.start = c->opts.start, .within = within, .closed = c->opts.each ? on_closed : NULL, .ended = on_ended,
		.brief_ns = c->opts.all_waits ? 0 : c->opts.brief_ns,
		.long_ns = c->opts.block_ns ? 2 * c->opts.block_ns : 0,
	};

	if (!events)
		return;
	cw = xcalloc(1, sizeof(*cw));
	cw->c = c;
	cw->event = cw->running = cw->wall = NO_EVENT;
	for (uint32_t i = 0; i < events->table.n; i++) {
		const bool wanted = c->opts.event == REC_EVENTS_ALL || c->opts.event == i;

		if (events->table.ev[i].role == ROLE_WAITS && cw->event == NO_EVENT)
			cw->event = i;
		else if (events->table.ev[i].role == ROLE_WALL && wanted && !c->leads_event)
			cw->wall = i;
	}
	if (cw->event == NO_EVENT ||
	    (c->opts.event != REC_EVENTS_ALL && c->opts.event != cw->event && c->opts.event != cw->wall)) {
		free(cw);
		return;
	}
	cw->off = c->opts.event == REC_EVENTS_ALL || c->opts.event == cw->event;
	if (cw->wall != NO_EVENT)
		cw->running = events->table.ev[cw->wall].leader;
	if (cw->running != NO_EVENT)
		c->events[cw->running].states = c->opts.event != REC_EVENTS_ALL;
	opts.running = cw->running != NO_EVENT;
	opts.ctx = cw;
	time_windows_init(&cw->windows, c->opts.filter);
	cw->waits = waits_new(&opts);
	if (c->opts.misses_wakeups)
		cpu_times_miss_wakeups(waits_times(cw->waits));
	/* Never by the number of samples, unless that is asked for. */
	c->events[cw->event].period_min = 1;
	c->events[cw->event].period_max = 2;
	c->events[cw->event].states = true;
	if (cw->wall != NO_EVENT)
		c->events[cw->wall] = c->events[cw->event];
	replay_time(c->rp, waits_times(cw->waits));
	c->waits = cw;
}

void collect_waits_fini(struct collect *c)
{
	struct collect_waits *cw = c->waits;

	if (!cw)
		return;
	waits_free(cw->waits);
	time_windows_fini(&cw->windows);
	u64map_fini(&cw->held_index);
	free(cw->held);
	free(cw->leads);
	free(cw);
	c->waits = NULL;
}

/* ---- samples ---- */

bool collect_waits_weighs(const struct collect *c, uint32_t event)
{
	return c->waits && (event == c->waits->event || event == c->waits->running);
}

bool collect_waits_off(const struct collect *c, uint32_t event)
{
	return c->waits && event == c->waits->event;
}

static bool same_stack(const struct held *h, const struct seen *s, const char *cgroup)
{
	return h->image == NO_IMAGE && h->cgroup == cgroup && h->seen.node == s->node && h->seen.end == s->end && h->seen.at == s->at &&
	       h->seen.joined == s->joined && h->seen.border == s->border && h->seen.event == s->event;
}

static uint32_t add_held(struct collect_waits *cw, const struct held *h)
{
	XGROW(cw->held, cw->nheld, cw->held_cap);
	cw->held[cw->nheld] = *h;
	return (uint32_t)cw->nheld++;
}

/* The number of a stack: equal ones share one. */
static uint32_t hold_stack(struct collect_waits *cw, const struct seen *seen, const char *cgroup)
{
	const struct held h = { .seen = *seen, .cgroup = cgroup, .image = NO_IMAGE };
	uint64_t hash = hash_combine((uint64_t)seen->joined << 32 | seen->node, seen->border ^ (uint64_t)seen->event << 56);

	hash = hash_combine(hash, (uintptr_t)cgroup);
	/* Each sample is one of its own. */
	if (cw->c->opts.each)
		return add_held(cw, &h);
	/* Try the next hash if another stack has this one. */
	for (;; hash++) {
		bool is_new;
		uint64_t *at = u64map_put(&cw->held_index, hash, &is_new);

		if (is_new)
			*at = add_held(cw, &h);
		if (is_new || same_stack(&cw->held[*at], seen, cgroup))
			return (uint32_t)*at;
	}
}

void collect_waits_hold(struct collect *c, const struct replay_sample *s, const struct seen *seen,
			const struct seen *entered)
{
	struct collect_waits *cw = c->waits;
	const bool running = s->ev->event == cw->running;
	const char *cgroup = c->opts.throttles ? s->cgroup : NULL;
	uint32_t stack = WAITS_HIDDEN;

	if (seen && (!s->img->kernel || c->opts.all_waits)) {
		stack = entered ? add_held(cw, &(struct held){ .seen = *seen, .cgroup = cgroup, .entered = *entered,
							       .image = s->img->index, .part = s->part }) :
				  hold_stack(cw, seen, cgroup);
		cw->held[stack].samples++;
	}
	waits_sample(cw->waits, s->ev, running, stack, seen ? seen->slot : 0, s->ev->period ? s->ev->period : 1);
}

void collect_waits_end(struct collect *c)
{
	if (!c->waits)
		return;
	waits_end(c->waits->waits);
	/* The end of the recording was the last event to be passed on. */
	replay_time(c->rp, NULL);
}

/* ---- which stack ---- */

static bool had_entered(struct collect *const *all, size_t nall, const struct held *h)
{
	for (size_t i = 0; i < nall; i++) {
		const struct image *img = replay_image(all[i]->rp, h->image);

		if (img->entered && img->entered_part < h->part)
			return true;
	}
	return false;
}

void collect_waits_resolve(struct collect *c, struct collect *const *all, size_t nall)
{
	struct collect_waits *cw = c->waits;
	const struct ctr_table *ctrs = sample_cgroups_containers(replay_cgroups(c->rp));
	const struct callchain **ccs;

	if (!cw || c->opts.each)
		return;
	ccs = xcalloc(nall, sizeof(*ccs));
	for (size_t i = 0; i < nall; i++)
		ccs[i] = all[i]->cc;
	for (size_t i = 0; i < cw->nheld; i++) {
		struct held *h = &cw->held[i];
		const struct seen *s = h->image != NO_IMAGE && had_entered(all, nall, h) ? &h->entered : &h->seen;
		const bool joins = s->joined && callchain_join_holds(ccs, nall, s->border);

		h->node = joins ? s->joined : s->node;
		h->limited = h->cgroup && ctr_table_throttled(ctrs, h->cgroup);
		h->truncated = !joins && collect_truncated(s->end);
		/* Samples that are counted for an event of their own, too, have ended there. */
		if (s->event == cw->event || c->opts.event != REC_EVENTS_ALL)
			collect_note_end(c, joins ? UNWIND_JOINED : s->end, joins ? 0 : s->at, h->samples);
	}
	free(ccs);
}

void collect_waits_mark(const struct collect *c, bool *wanted)
{
	for (size_t i = 0; c->waits && i < c->waits->nheld; i++)
		wanted[c->waits->held[i].node] = true;
}

/* ---- shares ---- */

struct map {
	const struct collect_waits *cw;
	const uint32_t *nodes, *slots;	/* NULL: they stay */
};

static void map_row(void *ctx, uint32_t *stack, uint32_t *slot)
{
	const struct map *m = ctx;
	const struct held *h = &m->cw->held[*stack];

	*stack = (m->nodes ? m->nodes[h->node] : h->node) | (h->limited ? STACK_LIMITED : 0) | (h->truncated ? STACK_TRUNCATED : 0);
	*slot = m->slots ? m->slots[*slot] : *slot;
}

void collect_waits_add(struct collect *to, struct collect *from, const uint32_t *nodes, const uint32_t *slots)
{
	struct map m = { .cw = from->waits, .nodes = nodes, .slots = slots };

	if (!from->waits)
		return;
	waits_map(from->waits->waits, map_row, &m);
	waits_add(to->waits->waits, from->waits->waits);
}

void collect_waits_settle(struct collect *c)
{
	struct collect_waits *cw = c->waits;
	struct map m = { .cw = cw };

	if (!cw || c->opts.each)
		return;
	/* Shares have been mapped as they were added, and there are no others. */
	if (cw->nheld)
		waits_map(cw->waits, map_row, &m);
	collect_states_count(c);
}
