/*
 * The stacks of a profile merged into a tree by what is shown, root first. Counts are samples or a period.
 * A frame is a name and its kind; frames that say whose the stacks are stand in front.
 */
#ifndef NSPROF_CALLTREE_H
#define NSPROF_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct intern;
struct lead;

enum frame_hue {
	HUE_USER, HUE_KERNEL, HUE_JIT, HUE_INLINED, HUE_LEADING,	/* leading: comm, process, container */
};

struct calltree_node {
	uint32_t name;		/* intern id */
	uint32_t parent;	/* node index, smaller than its own; the root is its own parent */
	uint32_t child;		/* first child, in no order before calltree_sort(), 0 = none */
	uint32_t next;		/* next sibling, 0 = none */
	uint32_t depth;		/* the root (node 0) is 0 */
	uint8_t hue;		/* enum frame_hue */
	uint64_t self;		/* stacks that end here */
	uint64_t total;		/* after calltree_sum(): that pass here, those that end here included */
};

struct calltree {
	struct calltree_node *nodes;	/* owned; [0] is the root, which has no name */
	uint32_t n;
	size_t cap;
	uint32_t depth;			/* of the deepest node */
	struct intern *names;		/* owned */
	/* (parent, name, hue) -> node index: see calltree.c */
	struct child_slot *slots;
	size_t nslots;
};

struct calltree *calltree_new(void);
void calltree_free(struct calltree *t);

/* Node of child @name (of t->names) of @parent, made when new. Fails never; at most 2^32-2 nodes (the program
 * ends beyond, as when memory is out). */
uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t name, uint8_t hue);
/* A new one, which the caller knows not to be there; calltree_child() does not find it. */
uint32_t calltree_add(struct calltree *t, uint32_t parent, uint32_t name, uint8_t hue);
/* Count @n stacks that end at @node. Saturates. */
void calltree_count(struct calltree *t, uint32_t node, uint64_t n);
/* Total of all nodes. Once, after the last stack. */
void calltree_sum(struct calltree *t);
/* Put the children of a node in the bytewise order of their names. */
void calltree_sort(struct calltree *t, uint32_t node);

/*
 * The tree of @p, summed up, with the leading frames of @lead. @period: count periods; where they are not known,
 * as in folded text, what there is. Nodes with less than the share @least of all may have no children, and be counted as if all of
 * it ended there; 0: all nodes are made. Own with calltree_free().
 */
struct calltree *calltree_of(const struct profile *p, const struct lead *lead, bool period, double least);
/*
 * The same of groups: a leading node for each group of threads, and below it nodes of groups of frames, by number:
 * @threads[i] is thread i's group and @frames[i] frame i's. The names of nodes are these numbers, their hues are HUE_LEADING and
 * HUE_USER.
 */
struct calltree *calltree_of_groups(const struct profile *p, const uint32_t *threads, const uint32_t *frames,
				    bool period);

#endif
