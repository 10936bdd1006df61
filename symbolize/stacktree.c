/* Hash-consed stacks (stacktree.h). */
#include "stacktree.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

void stacktree_init(struct stacktree *t)
{
	memset(t, 0, sizeof(*t));
	XGROW(t->nodes, t->n, t->cap);
	memset(&t->nodes[t->n++], 0, sizeof(*t->nodes));
}

void stacktree_fini(struct stacktree *t)
{
	free(t->nodes);
	u64map_fini(&t->index);
	memset(t, 0, sizeof(*t));
}

uint32_t stacktree_child(struct stacktree *t, uint32_t parent, uint32_t loc)
{
	uint32_t last = t->nodes[parent].last;
	uint64_t *slot;
	bool is_new;

	/* Mostly the same one again, and mostly beside its parent: the index lies all over memory. */
	if (last && t->nodes[last].loc == loc)
		return last;
	slot = u64map_put(&t->index, (uint64_t)parent << 32 | loc, &is_new);
	if (is_new) {
		struct stacknode *node;

		*slot = t->n;
		XGROW(t->nodes, t->n, t->cap);
		node = &t->nodes[t->n];
		memset(node, 0, sizeof(*node));
		node->parent = parent;
		node->loc = loc;
		t->n++;
	}
	t->nodes[parent].last = (uint32_t)*slot;
	return (uint32_t)*slot;
}

void stacktree_count(struct stacktree *t, uint32_t node, uint64_t samples, uint64_t period)
{
	struct stacknode *nd = &t->nodes[node];

	if (__builtin_add_overflow(nd->samples, samples, &nd->samples))
		nd->samples = UINT64_MAX;
	if (__builtin_add_overflow(nd->period, period, &nd->period))
		nd->period = UINT64_MAX;
}
