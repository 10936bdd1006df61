/*
 * All stacks of a recording as one tree with shared prefixes. A node is a location below a parent,
 * and equal (parent, location) pairs are one node. Memory grows with unique stacks, not with
 * samples.
 */
#ifndef NSPROF_STACKTREE_H
#define NSPROF_STACKTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define STACKTREE_ROOT 0u

/*
 * Up to this many children are kept in a list, the last used one in front. Most nodes have one or
 * two children, and new nodes have none: looking these up in an index would mean waiting for
 * memory.
 */
#define STACKTREE_FEW 8

struct stacknode {
	uint32_t parent;	/* node towards the root */
	uint32_t loc;		/* location id (location.h), or a name id once named */
	uint32_t last : 31;	/* the child that was used last; 0: none */
	uint32_t many : 1;	/* children are in the index, not in a list from @last on */
	uint32_t next;		/* next sibling in that list; 0: none */
	uint64_t samples;	/* samples whose leaf this node is */
	uint64_t period;	/* sum of their periods */
};

struct stacktree {
	struct stacknode *nodes;	/* owned; [0] is the root and stands for no frame */
	size_t n;
	size_t cap;
	struct u64map index;		/* parent << 32 | loc -> node, if the parent has many */
};

void stacktree_init(struct stacktree *t);
void stacktree_fini(struct stacktree *t);
/* stacktree_child() for children other than the last used one. */
uint32_t stacktree_child_slow(struct stacktree *t, uint32_t parent, uint32_t loc);

/*
 * The node for @loc below @parent; it is added if new. A parent's number is smaller than its
 * children's.
 */
static inline uint32_t stacktree_child(struct stacktree *t, uint32_t parent, uint32_t loc)
{
	uint32_t last = t->nodes[parent].last;

	return last && t->nodes[last].loc == loc ? last : stacktree_child_slow(t, parent, loc);
}

/* Adds @samples and @period to leaf @node. Sums stop at the largest value instead of wrapping. */
void stacktree_count(struct stacktree *t, uint32_t node, uint64_t samples, uint64_t period);

#endif
