#include "profile/profile_bound.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/owners.h"

struct bound {
	struct profile *p;
	uint32_t *depth;	/* owned; by node */
	uint32_t *jump;		/* owned; by node: one further up, see make_jumps() */
	size_t nodes_cap, frames_cap;
	struct u64map made;	/* parent << 32 | frame -> node that was added */
	uint32_t marker;	/* frame; 0: not made yet */
	struct owners owners;	/* owned */
	uint32_t nnodes;	/* of the file */
	const char *name;
};

/* ---- what there is ---- */

static void find_depths(struct bound *b)
{
	b->depth = xcalloc(b->p->nnodes, sizeof(*b->depth));
	for (uint32_t i = 1; i < b->p->nnodes; i++)
		b->depth[i] = b->depth[b->p->nodes[i].parent] + 1;
}

static bool within(uint64_t sum, size_t n, const struct fair_limit *l)
{
	return sum <= l->pool || sum - l->pool <= n * l->each;
}

static uint64_t sum_of(const struct fair_item *items, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += items[i].to - items[i].from;
	return sum;
}

/* Are all frames of all stacks within @l? */
static bool frames_within(const struct bound *b, const struct fair_limit *l)
{
	const struct profile *p = b->p;
	uint64_t sum = 0;

	for (size_t i = 0; i < p->ncounts; i++)
		sum += b->depth[p->counts[i].node];
	return within(sum, p->ncounts, l);
}

/* A stack's frames, for what walks all of them. NULL: there are not too many. */
static struct fair_item *frames_of(const struct bound *b, const struct fair_limit *l)
{
	const struct profile *p = b->p;
	struct fair_item *items;

	if (frames_within(b, l))
		return NULL;
	items = xcalloc(p->ncounts, sizeof(*items));
	for (size_t i = 0; i < p->ncounts; i++)
		items[i] = (struct fair_item){ b->owners.of[p->counts[i].thread], 0, b->depth[p->counts[i].node] };
	return items;
}

/*
 * The nodes that a count adds to those of its thread before it, for what makes a tree of each thread.
 * Counts are sorted by event and thread.
 */
static struct fair_item *nodes_of(const struct bound *b, const struct fair_limit *l)
{
	const struct profile *p = b->p;
	struct fair_item *items;
	uint32_t *seen, turn = 0;

	if (frames_within(b, l))
		return NULL;
	items = xcalloc(p->ncounts, sizeof(*items));
	seen = xcalloc(p->nnodes, sizeof(*seen));
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];
		uint32_t at = c->node;

		turn += !i || c->thread != c[-1].thread || c->event != c[-1].event;
		for (; at && seen[at] != turn; at = p->nodes[at].parent)
			seen[at] = turn;
		items[i] = (struct fair_item){ b->owners.of[c->thread], b->depth[at], b->depth[c->node] };
	}
	free(seen);
	if (!within(sum_of(items, p->ncounts), p->ncounts, l))
		return items;
	free(items);
	return NULL;
}

/* ---- cutting ---- */

/*
 * From each node one can jump so far up that any ancestor is a logarithm of the depth away (E. Myers,
 * An applicative random-access stack, 1983).
 */
static void make_jumps(struct bound *b)
{
	const struct profile *p = b->p;

	b->jump = xcalloc(p->nnodes, sizeof(*b->jump));
	for (uint32_t i = 1; i < p->nnodes; i++) {
		const uint32_t up = p->nodes[i].parent, one = b->jump[up], two = b->jump[one];

		b->jump[i] = b->depth[up] - b->depth[one] == b->depth[one] - b->depth[two] ? two : up;
	}
}

static uint32_t ancestor(const struct bound *b, uint32_t node, uint32_t depth)
{
	while (b->depth[node] > depth)
		node = b->depth[b->jump[node]] >= depth ? b->jump[node] : b->p->nodes[node].parent;
	return node;
}

/* A node that is not of the file. */
static uint32_t add_node(struct bound *b, uint32_t parent, uint32_t frame)
{
	struct profile *p = b->p;
	bool is_new;
	uint64_t *at = u64map_put(&b->made, (uint64_t)parent << 32 | frame, &is_new);

	if (!is_new)
		return (uint32_t)*at;
	if (p->nnodes == UINT32_MAX - 1) {
		pr_err("the profile has more than %u different stacks, which is the limit", UINT32_MAX - 1);
		exit(EXIT_FAILURE);
	}
	if (!b->nodes_cap)	/* the capacity is not known any more */
		b->nodes_cap = p->nnodes;
	XGROW(p->nodes, p->nnodes, b->nodes_cap);
	p->nodes[p->nnodes] = (struct profile_node){ parent, frame };
	*at = p->nnodes;
	return p->nnodes++;
}

static void make_marker(struct bound *b)
{
	struct profile *p = b->p;

	p->frames = xrealloc(p->frames, ((size_t)p->nframes + 1) * sizeof(*p->frames));
	p->frames[p->nframes] = (struct profile_frame){ .name = profile_string(p, BOUND_LEFT_OUT), .kind = PROFILE_USER };
	b->marker = p->nframes++;
}

/* @node with its outermost frames, the marker, and its innermost ones: @level frames. */
static uint32_t cut_stack(struct bound *b, uint32_t node, uint32_t level)
{
	uint32_t inner[BOUND_INNERMOST], at;

	for (uint32_t i = 0, up = node; i < BOUND_INNERMOST; i++, up = b->p->nodes[up].parent)
		inner[i] = b->p->nodes[up].frame;
	at = add_node(b, ancestor(b, node, level - BOUND_INNERMOST - 1), b->marker);
	for (uint32_t i = BOUND_INNERMOST; i-- > 0;)
		at = add_node(b, at, inner[i]);
	return at;
}

/* Applies the levels of @items, and frees these. */
static void cut_deep(struct bound *b, struct fair_item *items, const struct fair_limit *l)
{
	struct profile *p = b->p;
	uint64_t *levels = items ? fair_levels(items, p->ncounts, b->owners.n, *l) : NULL;

	if (levels) {
		make_jumps(b);
		if (!b->marker)
			make_marker(b);
	}
	for (size_t i = 0; levels && i < p->ncounts; i++) {
		const uint64_t level = MAX(levels[items[i].owner], 2ull * BOUND_INNERMOST);

		if (items[i].to <= level)
			continue;
		b->owners.cut[items[i].owner] += p->counts[i].node < b->nnodes;
		p->counts[i].node = cut_stack(b, p->counts[i].node, (uint32_t)level);
	}
	free(levels);
	free(items);
}

static void tell_line(void *ctx, const char *text)
{
	const struct bound *b = ctx;

	pr_warn("'%s': %s", b->name, text);
	profile_set_meta(b->p, "note", text);
}

/* ---- all of it ---- */

/* Sorts the counts again; stacks that were different may now be one. */
static void finish_again(struct profile *p)
{
	p->samples = p->period = 0;
	for (uint32_t i = 0; i < p->nevents; i++)
		p->events[i].samples = p->events[i].period = 0;
	profile_finish(p);
}

static void start(struct bound *b)
{
	find_depths(b);
	free(b->jump);
	b->jump = NULL;
}

void profile_bound(struct profile *p, const struct profile_limits *limits, const char *name)
{
	struct bound b = { .p = p, .nnodes = p->nnodes, .name = name };

	if (!p->ncounts)
		return;
	start(&b);
	owners_init(&b.owners, p->threads, (uint32_t)p->nthreads);
	cut_deep(&b, frames_of(&b, &limits->frames), &limits->frames);
	if (b.marker) {
		finish_again(p);
		free(b.depth);
		start(&b);
	}
	cut_deep(&b, nodes_of(&b, &limits->nodes), &limits->nodes);
	if (b.marker) {
		finish_again(p);
		owners_tell(&b.owners, p, "deep", tell_line, &b);
	}
	u64map_fini(&b.made);
	free(b.depth);
	free(b.jump);
	owners_fini(&b.owners);
}
