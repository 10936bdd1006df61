/* Stacks as a tree of unique nodes (stacktree.h). */
#include "replay/stacktree.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/*
 * Initial capacity in nodes, 1 MiB. Unused memory is never touched, and the array rarely has to
 * move.
 */
#define RESERVE (1u << 15)

void stacktree_init(struct stacktree *t)
{
	memset(t, 0, sizeof(*t));
	t->cap = RESERVE;
	t->nodes = xmalloc(t->cap * sizeof(*t->nodes));
	XGROW(t->nodes, t->n, t->cap);
	memset(&t->nodes[t->n++], 0, sizeof(*t->nodes));
}

void stacktree_fini(struct stacktree *t)
{
	free(t->nodes);
	u64map_fini(&t->index);
	memset(t, 0, sizeof(*t));
}

static uint32_t add_node(struct stacktree *t, uint32_t parent, uint32_t loc)
{
	XGROW(t->nodes, t->n, t->cap);
	t->nodes[t->n] = (struct stacknode){ .parent = parent, .loc = loc };
	return (uint32_t)t->n++;
}

static uint64_t *index_put(struct stacktree *t, uint32_t parent, uint32_t loc, bool *is_new)
{
	return u64map_put(&t->index, (uint64_t)parent << 32 | loc, is_new);
}

/* The same for a parent whose children are in the index. */
static uint32_t child_of_many(struct stacktree *t, uint32_t parent, uint32_t loc)
{
	bool is_new;
	uint64_t *slot = index_put(t, parent, loc, &is_new);

	if (is_new)
		*slot = add_node(t, parent, loc);
	t->nodes[parent].last = (uint32_t)*slot;
	return (uint32_t)*slot;
}

uint32_t stacktree_child_slow(struct stacktree *t, uint32_t parent, uint32_t loc)
{
	uint32_t id, before = 0, n = 0;

	if (t->nodes[parent].many)
		return child_of_many(t, parent, loc);
	for (id = t->nodes[parent].last; id && t->nodes[id].loc != loc; id = t->nodes[id].next) {
		before = id;
		n++;
	}
	if (!id && n == STACKTREE_FEW) {
		for (id = t->nodes[parent].last; id; id = t->nodes[id].next)
			*index_put(t, parent, t->nodes[id].loc, NULL) = id;
		t->nodes[parent].many = true;
		return child_of_many(t, parent, loc);
	}
	if (!id)
		id = add_node(t, parent, loc);
	else if (before)
		t->nodes[before].next = t->nodes[id].next;
	else
		return id;
	t->nodes[id].next = t->nodes[parent].last;
	t->nodes[parent].last = id;
	return id;
}

void stacktree_count(struct stacktree *t, uint32_t node, uint64_t samples, uint64_t period)
{
	struct stacknode *nd = &t->nodes[node];

	if (__builtin_add_overflow(nd->samples, samples, &nd->samples))
		nd->samples = UINT64_MAX;
	if (__builtin_add_overflow(nd->period, period, &nd->period))
		nd->period = UINT64_MAX;
}
