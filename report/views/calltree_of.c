/* Builds a call tree from a profile (calltree.h). */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"
#include "profile/wait_frames.h"
#include "views/calltree.h"

#define AHEAD 64	/* nodes */

static const uint8_t hues[PROFILE_KINDS] = {
	[PROFILE_USER] = HUE_USER, [PROFILE_KERNEL] = HUE_KERNEL, [PROFILE_JIT] = HUE_JIT,
	[PROFILE_INLINED] = HUE_INLINED, [PROFILE_LEADING] = HUE_LEADING,
};

struct builder {
	const struct profile *p;
	struct calltree *t;
	const struct lead *lead_by;	/* NULL: by groups */
	const uint32_t *thread_groups, *frame_groups;
	bool by_state;		/* states lead stacks instead of ending them */
	uint8_t *states;	/* [frame] -> enum lead_state; owned */
	bool one_state;		/* only stacks that end with @state, without it */
	enum lead_state state;
	struct wait_frames waits;	/* with @one_state */
	uint32_t *names;	/* unless by groups: [frame] -> id in the tree */
	bool distinct;		/* no two frames look alike, so no two children of a caller do */
	/* Nodes of the tree by those of the profile, below one leading node at a time. */
	uint32_t *nodes, *below;	/* @nodes[i] is valid if @below[i] is @lead + 1 */
	uint32_t lead;
	uint32_t *path;
	size_t path_cap;
};

static uint32_t add_lead(struct calltree *t, uint32_t node, const char *text)
{
	return calltree_child(t, node, intern_add(t->names, text), HUE_LEADING);
}

static uint32_t event_node(const struct builder *b, uint32_t node, uint32_t event)
{
	struct strbuf text = STRBUF_INIT;

	profile_event_text(b->p, event, &text);
	node = add_lead(b->t, node, text.len ? text.s : LEADING_NO_EVENT);
	strbuf_fini(&text);
	return node;
}

/* Returns the node of the leading frames of a thread, an event and, if they lead, a state. */
static uint32_t lead_node(const struct builder *b, uint32_t thread, uint32_t event, enum lead_state state)
{
	const struct profile_thread *th = &b->p->threads[thread];
	const struct lead *lead = b->lead_by;
	struct strbuf text = STRBUF_INIT;
	uint32_t node = 0;

	if (!lead)
		return calltree_child(b->t, node, b->thread_groups[thread], HUE_LEADING);
	for (uint32_t i = 0; i < lead->n; i++) {
		const bool process = lead->by[i] == LEAD_PROCESS && th->process;

		if (lead->by[i] == LEAD_FIELD) {
			strbuf_reset(&text);
			lead_field_text(lead, profile_text(b->p, th->fields), &text);
			node = add_lead(b->t, node, text.s);
			continue;
		}
		if (lead->by[i] == LEAD_EVENT) {
			node = event_node(b, node, event);
			continue;
		}
		/* Samples that are not weighed by switches are of threads that run. */
		if (lead->by[i] == LEAD_STATE) {
			const enum lead_state shown = state < STATES ? state : STATE_RUNNING;

			node = calltree_child(b->t, node, intern_add(b->t->names, lead_state_text(shown)), (uint8_t)(HUE_STATES + shown));
			continue;
		}
		/* Thread 0: unknown. */
		if (!thread)
			continue;
		if (lead->by[i] == LEAD_CONTAINER) {
			node = add_lead(b->t, node, profile_text(b->p, th->container));
			if (th->helper)
				node = add_lead(b->t, node, LEADING_RUNTIME_HELPER);
			continue;
		}
		strbuf_reset(&text);
		lead_thread_text(lead->by[i], profile_text(b->p, process ? th->process : th->comm), (uint32_t)th->pid, (uint32_t)th->tid,
				 th->tid == PROFILE_TID_MERGED, &text);
		node = add_lead(b->t, node, text.s);
	}
	strbuf_fini(&text);
	return node;
}

static uint8_t hue_of(const struct builder *b, uint32_t frame)
{
	return b->states[frame] < STATES ? (uint8_t)(HUE_STATES + b->states[frame]) : hues[b->p->frames[frame].kind];
}

static uint32_t child_node(const struct builder *b, uint32_t parent, uint32_t frame)
{
	uint32_t name = b->lead_by ? b->names[frame] : b->frame_groups[frame];
	uint8_t hue = b->lead_by ? hue_of(b, frame) : HUE_USER;

	return b->distinct ? calltree_add(b->t, parent, name, hue) : calltree_child(b->t, parent, name, hue);
}

/* Returns the node for the profile's @node below the current leading frames. */
static uint32_t tree_node(struct builder *b, uint32_t node)
{
	uint32_t at = b->lead;
	size_t n = 0;

	for (; node; node = b->p->nodes[node].parent) {
		if (b->below[node] == b->lead + 1) {
			at = b->nodes[node];
			break;
		}
		XGROW(b->path, n, b->path_cap);
		b->path[n++] = node;
	}
	while (n) {
		at = child_node(b, at, b->p->nodes[b->path[--n]].frame);
		b->nodes[b->path[n]] = at;
		b->below[b->path[n]] = b->lead + 1;
	}
	return at;
}

/* The state that a stack ends with, if it matters; else STATES. */
static enum lead_state end_state(const struct builder *b, uint32_t node)
{
	return b->by_state || b->one_state ? (enum lead_state)b->states[b->p->nodes[node].frame] : STATES;
}

/* The node of a stack without the state that is shown in another place. */
static uint32_t stateless(const struct builder *b, uint32_t node)
{
	const uint32_t parent = b->p->nodes[node].parent;

	/* A row needs a frame. */
	return end_state(b, node) < STATES && (parent || !b->one_state) ? parent : node;
}

/* The counts of one thread and event. */
struct part {
	uint32_t lead;
	size_t first, end;
};

static int by_lead(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	return a->lead < b->lead ? -1 : a->lead > b->lead;
}

/*
 * Makes the parts and puts those with the same leading frames next to each other. Owned by the
 * caller.
 */
static struct part *make_parts(const struct builder *b, size_t *n)
{
	const struct profile *p = b->p;
	struct part *parts = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < p->ncounts;) {
		uint32_t thread = p->counts[i].thread, event = p->counts[i].event;
		const enum lead_state state = end_state(b, p->counts[i].node);
		struct part part = { .first = i };

		while (i < p->ncounts && p->counts[i].thread == thread && p->counts[i].event == event &&
		       end_state(b, p->counts[i].node) == state)
			i++;
		if (b->one_state && state != b->state)
			continue;
		part.end = i;
		part.lead = lead_node(b, thread, event, state);
		XGROW(parts, *n, cap);
		parts[(*n)++] = part;
	}
	if (*n)
		qsort(parts, *n, sizeof(*parts), by_lead);
	return parts;
}

static void name_frames(struct builder *b)
{
	const struct profile *p = b->p;

	b->names = xcalloc(p->nframes, sizeof(*b->names));
	for (uint32_t i = 1; i < p->nframes; i++)
		b->names[i] = intern_addn(b->t->names, profile_text(p, p->frames[i].name), intern_len(p->strings, p->frames[i].name));
}

/* [frame]: the state that it is, or STATES. Owned by the caller. */
static uint8_t *frame_states(const struct profile *p)
{
	uint8_t *states = xcalloc((size_t)p->nframes + 1, sizeof(*states));

	states[0] = STATES;
	for (uint32_t i = 1; i < p->nframes; i++)
		/* A function in a file may have any name. */
		states[i] = p->frames[i].dso ? STATES : (uint8_t)lead_state_find(profile_text(p, p->frames[i].name));
	return states;
}

static bool are_distinct(const struct builder *b)
{
	struct u64map seen = U64MAP_INIT;
	bool is_new = true;

	for (uint32_t i = 1; i < b->p->nframes && is_new; i++) {
		uint32_t name = b->lead_by ? b->names[i] : b->frame_groups[i];
		uint8_t hue = b->lead_by ? hue_of(b, i) : HUE_USER;

		u64map_put(&seen, (uint64_t)name << 8 | hue, &is_new);
	}
	u64map_fini(&seen);
	return is_new;
}

static uint64_t weight_of(const struct profile *p, const struct profile_count *c, bool period)
{
	return profile_weight(c, p->nevents ? p->events[c->event].by_period : period);
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

/*
 * Prefetches the parent's total for node @i, which is visited soon; there may be no such node. In
 * an unsorted profile, parents are scattered all over memory. Always inlined: gcc 12 would drop it
 * as a separate function without a result.
 */
static inline __attribute__((always_inline)) void
prefetch_parent(const struct profile *p, const uint64_t *total, uint32_t i)
{
	/* Most nodes directly follow their parent. */
	if (i < p->nnodes && p->nodes[i].parent + 1 != i)
		__builtin_prefetch(&total[p->nodes[i].parent]);
}

/* [node]: what ends there and below. Owned by the caller. */
static uint64_t *node_totals(const struct profile *p, bool period)
{
	uint64_t *total = xcalloc(p->nnodes, sizeof(*total));

	for (size_t i = 0; i < p->ncounts; i++)
		total[p->counts[i].node] = add_saturated(total[p->counts[i].node], weight_of(p, &p->counts[i], period));
	for (uint32_t i = p->nnodes; i-- > 1;) {
		prefetch_parent(p, total, i - AHEAD);
		total[p->nodes[i].parent] = add_saturated(total[p->nodes[i].parent], total[i]);
	}
	return total;
}

/*
 * As count_all(), for one leading node and distinct frames; counts below nodes of less than @least
 * of all go to these nodes. A million stacks with little in common are millions of nodes, six times
 * as large as those of a profile, and nobody would see them.
 */
static void count_wide(struct builder *b, bool period, double least)
{
	const struct profile *p = b->p;
	uint64_t *total = node_totals(p, period);
	/* for wide nodes only, so few of its pages are touched */
	uint32_t *nodes = xcalloc(p->nnodes, sizeof(*nodes));

	least *= (double)total[0];
	nodes[0] = b->lead;
	for (uint32_t i = 1; i < p->nnodes; i++) {
		uint32_t parent = p->nodes[i].parent, node;

		prefetch_parent(p, total, i + AHEAD);
		if ((double)total[parent] < least || !total[i])
			continue;
		node = child_node(b, nodes[parent], p->nodes[i].frame);
		if ((double)total[i] < least)
			calltree_count(b->t, node, total[i]);
		else
			nodes[i] = node;
	}
	for (size_t i = 0; i < p->ncounts; i++)
		if ((double)total[p->counts[i].node] >= least)
			calltree_count(b->t, nodes[p->counts[i].node], weight_of(p, &p->counts[i], period));
	free(total);
	free(nodes);
}

/* Counts the profile in b->t; @least as for calltree_of(). */
static void count_all(struct builder *b, bool period, double least)
{
	const struct profile *p = b->p;
	struct part *parts;
	size_t n;

	period = period && p->period;
	b->distinct = are_distinct(b);
	parts = make_parts(b, &n);
	if (least > 0 && n == 1 && b->distinct && !b->by_state) {
		b->lead = parts[0].lead;
		count_wide(b, period, least);
		free(parts);
		return;
	}
	b->nodes = xcalloc(p->nnodes, sizeof(*b->nodes));
	b->below = xcalloc(p->nnodes, sizeof(*b->below));
	for (size_t k = 0; k < n; k++) {
		b->lead = parts[k].lead;
		for (size_t i = parts[k].first; i < parts[k].end; i++) {
			const struct profile_count *c = &p->counts[i];
			const uint32_t end = stateless(b, c->node), own = b->one_state ? wait_frames_own(&b->waits, c->node) : end;

			calltree_count_for(b->t, tree_node(b, end), tree_node(b, own), weight_of(p, c, period));
		}
	}
	free(parts);
	free(b->nodes);
	free(b->below);
	free(b->path);
}

struct calltree *calltree_of(const struct profile *p, const struct lead *lead, bool period, double least)
{
	struct builder b = { .p = p, .t = calltree_new(), .lead_by = lead, .by_state = lead_has(lead, LEAD_STATE) };

	name_frames(&b);
	b.states = frame_states(p);
	count_all(&b, period, least);
	free(b.names);
	free(b.states);
	calltree_sum(b.t);
	return b.t;
}

static struct calltree *by_groups(struct builder *b, bool period)
{
	b->t = calltree_new();
	b->states = frame_states(b->p);
	count_all(b, period, 0);
	free(b->states);
	calltree_sum(b->t);
	return b->t;
}

struct calltree *calltree_of_groups(const struct profile *p, const uint32_t *threads, const uint32_t *frames,
				    bool period)
{
	struct builder b = { .p = p, .thread_groups = threads, .frame_groups = frames };

	return by_groups(&b, period);
}

struct calltree *calltree_of_state(const struct profile *p, const uint32_t *threads, const uint32_t *frames,
				   bool period, enum lead_state state)
{
	struct builder b = { .p = p, .thread_groups = threads, .frame_groups = frames, .one_state = true, .state = state };
	struct calltree *t;

	wait_frames_init(&b.waits, p);
	t = by_groups(&b, period);
	wait_frames_fini(&b.waits);
	return t;
}

void calltree_states(const struct profile *p, bool have[STATES + 1])
{
	uint8_t *states = frame_states(p);

	for (int i = 0; i <= STATES; i++)
		have[i] = false;
	for (size_t i = 0; i < p->ncounts; i++)
		have[states[p->nodes[p->counts[i].node].frame]] = true;
	free(states);
}
