/* Counts waits with frames for their state and their reason (collect_waits.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"
#include "replay/collect.h"
#include "replay/collect_waits.h"
#include "replay/collect_waits_priv.h"
#include "replay/wait_reason.h"
#include "symbols/kallsyms.h"

/*
 * A thread that was for this share of the time (in %) at one stack does nothing else: it is parked.
 * Time without a known stack does not count, unless less than KNOWN_PERCENT would be left. As in
 * diff_parked.c.
 */
#define PARKED_PERCENT 90
#define KNOWN_PERCENT 10

/*
 * A wait is spread over at most so many blocks of time, and all waits together over at most so
 * many: a recording that is cut or malicious may have a million blocks.
 */
#define PIECES_MAX 2048u
#define PIECES_ALL (4u << 20)

struct states {
	struct collect *c;
	struct collect_waits *cw;
	struct wait_part *parts;	/* owned */
	size_t n, cap;
	struct u64map parked;		/* life that is parked -> the node where; STACKTREE_ROOT: not known */
	bool *marked;			/* owned; by node of a sample: has its stack a mark that it is incomplete? */
	uint64_t pieces;		/* counts by block so far */
	uint8_t *loc_reason;		/* owned; by location: wait_reason + 1; 0: not looked up */
	size_t nlocs;
	struct u64map rerooted;		/* node << 3 | state -> the node in that state */
	uint32_t none, starting, before, parked_text, brief;	/* locations */
	uint32_t state_loc[STATES];
};

static void note_part(void *ctx, const struct wait_part *part)
{
	struct states *s = ctx;

	XGROW(s->parts, s->n, s->cap);
	s->parts[s->n++] = *part;
}

static const struct wait_lead *lead_of(const struct states *s, uint32_t life)
{
	static const struct wait_lead unknown = { .kind = LEAD_UNKNOWN };

	return life < s->cw->nleads ? &s->cw->leads[life] : &unknown;
}

static bool is_off(const struct wait_part *p)
{
	return p->kind == WAIT_BLOCKED || p->kind == WAIT_QUEUED || p->kind == WAIT_BEFORE;
}

/* The stack of a part, without frames for its reason and state. */
static uint32_t base_node(struct states *s, const struct wait_part *p)
{
	const struct wait_lead *lead = lead_of(s, p->life);
	const uint32_t node = lead->kind == LEAD_KNOWN ? lead->node : STACKTREE_ROOT;

	if (p->sampled)
		return p->stack & STACK_NODE;
	if (p->brief)
		return stacktree_child(&s->c->tree, node, s->brief);
	switch (p->kind) {
	case WAIT_STARTING:
		return stacktree_child(&s->c->tree, node, s->starting);
	case WAIT_BEFORE:
		return stacktree_child(&s->c->tree, node, s->before);
	case WAIT_RUNNING:
	case WAIT_BLOCKED:
	case WAIT_QUEUED:
	case WAIT_PREEMPTED:
	case WAIT_KINDS:
		break;
	}
	return stacktree_child(&s->c->tree, node, s->none);
}

static bool is_hidden(const struct states *s, const struct wait_part *p)
{
	const struct wait_lead *lead = lead_of(s, p->life);

	/* Samples were filtered one by one: the thread may have had another name then. */
	return !p->sampled && (lead->kind == LEAD_HIDDEN || lead->kind == LEAD_KERNEL);
}

/* Time off the CPU at a place, as far as it is known. */
static bool may_be_parked(const struct states *s, const struct wait_part *p)
{
	return is_off(p) && !p->brief && !is_hidden(s, p);
}

/* ---- reasons ---- */

static wait_reason reason_at(struct states *s, uint32_t loc_id)
{
	const struct location *loc = &s->c->locs.locs[loc_id];
	const struct kallsyms *ks;
	const char *name, *module;

	if (loc_id >= s->nlocs || loc->kind != LOC_KERNEL)
		return 0;
	if (!s->loc_reason[loc_id]) {
		ks = replay_kernel(s->c->rp, s->c->opts.kallsyms);
		if (!ks || !kallsyms_lookup(ks, (struct avma){ loc->addr }, &name, &module))
			name = "";
		s->loc_reason[loc_id] = (uint8_t)(wait_reason_of(name, s->c->opts.throttles) + 1);
	}
	return (wait_reason)(s->loc_reason[loc_id] - 1);
}

static wait_reason reason_of(struct states *s, uint32_t node)
{
	wait_reason reason = 0;

	for (; node; node = s->c->tree.nodes[node].parent) {
		const uint32_t loc = s->c->tree.nodes[node].loc;
		const uint8_t kind = s->c->locs.locs[loc].kind;

		if (kind != LOC_KERNEL && kind != LOC_KSYM)
			break;
		reason = wait_reason_add(reason, reason_at(s, loc));
	}
	return reason;
}

static enum lead_state state_of(const struct wait_part *p, wait_reason reason)
{
	switch (p->kind) {
	case WAIT_RUNNING:
		return STATE_RUNNING;
	case WAIT_PREEMPTED:
		return wait_reason_is_throttled(reason, p->sampled && p->stack & STACK_LIMITED) ? STATE_THROTTLED : STATE_RUNNABLE;
	case WAIT_QUEUED:
	case WAIT_STARTING:
		return STATE_RUNNABLE;
	case WAIT_BLOCKED:
	case WAIT_BEFORE:
	case WAIT_KINDS:
		break;
	}
	return STATE_BLOCKED;
}

/* ---- frames ---- */

/* The same path as to @node, with the frame of a state in place of its mark. */
static uint32_t reroot(struct states *s, uint32_t node, enum lead_state state)
{
	struct stacktree *tree = &s->c->tree;
	const uint64_t key = (uint64_t)node << 3 | state, *at = u64map_get(&s->rerooted, key);
	uint32_t loc, to;

	if (!node || at)
		return at ? (uint32_t)*at : node;
	loc = tree->nodes[node].loc;
	to = reroot(s, tree->nodes[node].parent, state);
	to = stacktree_child(tree, to, loc == s->c->state_mark ? s->state_loc[state] : loc);
	*u64map_put(&s->rerooted, key, NULL) = to;
	return to;
}

static uint32_t with_state(struct states *s, uint32_t node, wait_reason reason, enum lead_state state)
{
	const char *why = wait_reason_text(reason);
	struct stacktree *tree = &s->c->tree;

	if (why && state != STATE_THROTTLED)
		node = stacktree_child(tree, node, collect_text(s->c, why));
	if (s->c->leads_state)
		return reroot(s, node, state);
	return stacktree_child(tree, node, s->state_loc[state]);
}

/* ---- counting ---- */

/* Counts in the blocks of time that [@from, @to) has, with exact sums. Waits count where they begin. */
static void count_times(struct states *s, uint32_t event, uint32_t thread, uint32_t node, const struct wait_part *p)
{
	struct collect *c = s->c;
	const uint64_t block_ns = c->opts.block_ns, start = c->opts.start;
	const uint64_t from = MAX(p->from, start) - start, to = MAX(MAX(p->to, start) - start, from + 1);
	/* Samples of running threads, and short waits, are many: they are where the first one is. */
	const bool spreads = (!p->sampled || to - from >= 2 * block_ns) && s->pieces < PIECES_ALL;
	const uint64_t first = MIN(from / block_ns, PROFILE_BLOCKS_MAX - 1ull);
	const uint64_t last = spreads ? MIN((to - 1) / block_ns, PROFILE_BLOCKS_MAX - 1ull) : first;
	const uint64_t step = (last - first) / PIECES_MAX + 1;
	uint64_t done = 0;

	for (uint64_t b = first; b <= last; b += step, s->pieces++) {
		const bool end_here = last - b < step;
		const uint64_t end = end_here ? to : MIN((b + step) * block_ns, to);
		const uint64_t upto = end_here ? p->ns : (uint64_t)((unsigned __int128)p->ns * (end - from) / (to - from));

		if (upto > done || b == first)
			thread_times_count(&c->spread, thread_times_slot(&c->spread, thread, event, (uint32_t)b), node,
					   b == first ? p->n : 0, upto - done);
		done = upto;
	}
	c->last_time = MAX(c->last_time, to);
}

static void find_marked(struct states *s)
{
	const struct collect *c = s->c;

	s->marked = xcalloc(c->tree.n, sizeof(*s->marked));
	for (size_t i = 1; i < c->tree.n; i++) {
		const struct stacknode *nd = &c->tree.nodes[i];

		s->marked[i] = s->marked[nd->parent] || nd->loc == c->truncated || nd->loc == c->broken;
	}
}

static void count_for(struct states *s, uint32_t event, uint32_t node, const struct wait_part *p)
{
	static const struct profile_thread unknown = { .process = COLLECT_NO_IMAGE, .pid = -1, .tid = -1, .nspid = -1 };
	struct collect *c = s->c;
	const struct wait_lead *lead = lead_of(s, p->life);

	stacktree_count(&c->tree, node, p->n, p->ns);
	c->events[event].truncated += p->sampled && p->stack & STACK_TRUNCATED ? p->n : 0;
	c->events[event].incomplete += p->sampled && s->marked[p->stack & STACK_NODE] ? p->n : 0;
	if (!c->opts.block_ns)
		return;
	if (p->sampled)
		count_times(s, event, c->spread.slots[p->thread].thread, node, p);
	else if (lead->kind == LEAD_KNOWN)
		count_times(s, event, lead->thread, node, p);
	else
		count_times(s, event, thread_times_thread(&c->spread, &unknown), node, p);
}

static void count_part(struct states *s, const struct wait_part *p)
{
	struct collect_states *sum = &s->c->states;
	uint32_t node = base_node(s, p);
	const wait_reason reason = p->kind == WAIT_RUNNING || !p->sampled ? 0 : reason_of(s, node);
	const enum lead_state state = state_of(p, reason);
	const uint64_t *parked = may_be_parked(s, p) ? u64map_get(&s->parked, p->life) : NULL;
	const struct wait_lead *lead = lead_of(s, p->life);

	if (s->c->opts.filter && !filter_accepts(s->c->opts.filter, FILTER_STATE, NULL, state))
		return;
	sum->ns[state] += p->ns;
	if (!p->sampled && !p->brief && p->kind != WAIT_RUNNING)
		sum->unsampled_ns += p->ns;
	if (parked && (!p->sampled || node == *parked) && lead->kind == LEAD_KNOWN) {
		sum->parked_ns += p->ns;
		node = with_state(s, stacktree_child(&s->c->tree, lead->node, s->parked_text), reason_of(s, (uint32_t)*parked), state);
	} else {
		/* A preempted thread waits for nothing but a CPU. */
		node = with_state(s, node, p->kind == WAIT_PREEMPTED ? 0 : reason, state);
	}
	if (s->cw->off && p->kind != WAIT_RUNNING)
		count_for(s, s->cw->event, node, p);
	if (s->cw->wall != NO_EVENT)
		count_for(s, s->cw->wall, node, p);
}

/* Sums up where each life was off the CPU; node 0: unknown. */
static struct u64map places_of(const struct states *s)
{
	struct u64map at = U64MAP_INIT;		/* life << 32 | node -> ns */

	for (size_t i = 0; i < s->n; i++) {
		const struct wait_part *p = &s->parts[i];

		if (may_be_parked(s, p))
			*u64map_put(&at, (uint64_t)p->life << 32 | (p->sampled ? p->stack & STACK_NODE : STACKTREE_ROOT), NULL) += p->ns;
	}
	return at;
}

static void find_parked(struct states *s)
{
	struct u64map at = places_of(s);
	uint64_t all = 0, key, ns;
	size_t it = 0, n;
	const struct cpu_window *recorded = cpu_times_windows(waits_times(s->cw->waits), &n);

	for (size_t i = 0; i < n; i++)
		all += time_windows_within(&s->cw->windows, recorded[i].from, recorded[i].to);
	/* At least something: without any time, every stack would have most of it. */
	all = MAX(all / 100, 1ull);
	while (u64map_next(&at, &it, &key, &ns)) {
		const uint64_t *unknown = u64map_get(&at, key >> 32 << 32);
		const uint64_t rest = unknown && (uint32_t)key ? all - MIN(*unknown / 100, all) : all;
		const uint64_t least = (uint32_t)key ? MAX(rest * PARKED_PERCENT, all * KNOWN_PERCENT) : all * PARKED_PERCENT;

		/* One that is known is better. */
		if (ns >= least) {
			uint64_t *where = u64map_put(&s->parked, key >> 32, NULL);

			*where = MAX(*where, key & UINT32_MAX);
		}
	}
	u64map_fini(&at);
}

static void sum_up(struct states *s)
{
	struct collect_states *sum = &s->c->states;
	struct cpu_times *times = waits_times(s->cw->waits);
	size_t n;
	const struct cpu_thread *th = cpu_times_threads(times, &n);

	sum->known = true;
	sum->doubts = cpu_times_doubts(times);
	sum->counts = waits_counts(s->cw->waits);
	for (size_t i = 0; i < n; i++) {
		const struct wait_lead *lead = lead_of(s, (uint32_t)i);

		if (lead->kind == LEAD_HIDDEN)
			continue;
		if (lead->kind == LEAD_KERNEL) {
			sum->kernel_threads++;
			continue;
		}
		sum->threads++;
		sum->wall_ns += cpu_thread_wall(&th[i]);
		sum->on_ns += th[i].ns[CPU_ON];
		sum->gap_ns += th[i].ns[CPU_GAP];
		sum->off_ns += cpu_thread_wall(&th[i]) - th[i].ns[CPU_ON] - th[i].ns[CPU_GAP];
		sum->open += th[i].open;
		sum->by_kernel |= th[i].have_sched;
		sum->by_wakeups |= th[i].queued > 0;
	}
}

/* "[shorter than 1.5 ms]" */
static uint32_t brief_text(struct collect *c)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	const uint64_t ns = c->opts.brief_ns;
	char text[64];
	size_t i = 0;

	while (units[i].ns > MAX(ns, 1ull))
		i++;
	snprintf(text, sizeof(text), WAITS_BRIEF "%.6g %s]", (double)ns / (double)units[i].ns, units[i].name);
	return collect_text(c, text);
}

static bool has_counts(const struct stacktree *tree)
{
	for (size_t i = 1; i < tree->n; i++)
		if (tree->nodes[i].samples)
			return true;
	return false;
}

void collect_states_count(struct collect *c)
{
	struct states s = { .c = c, .cw = c->waits };

	s.nlocs = c->locs.n;
	s.loc_reason = xcalloc(s.nlocs + 1, sizeof(*s.loc_reason));
	s.none = collect_text(c, WAITS_NO_STACK);
	s.starting = collect_text(c, WAITS_STARTING);
	s.before = collect_text(c, WAITS_BEFORE);
	s.parked_text = collect_text(c, WAITS_PARKED);
	s.brief = brief_text(c);
	for (int i = 0; i < STATES; i++)
		s.state_loc[i] = collect_text(c, lead_state_text((enum lead_state)i));
	find_marked(&s);
	waits_result(s.cw->waits, note_part, &s);
	if (!c->opts.keep_parked)
		find_parked(&s);
	for (size_t i = 0; i < s.n; i++)
		if (!is_hidden(&s, &s.parts[i]))
			count_part(&s, &s.parts[i]);
	sum_up(&s);
	if (c->opts.filter && c->opts.filter->has[FILTER_STATE] && !has_counts(&c->tree))
		c->samples = 0;
	u64map_fini(&s.parked);
	u64map_fini(&s.rerooted);
	free(s.parts);
	free(s.loc_reason);
	free(s.marked);
}
