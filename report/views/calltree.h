/*
 * The stacks of a profile, merged into a tree by the names that views show, root first. Counts are
 * samples or a period. A frame is a name and its kind. Leading frames (container, process, thread)
 * come first.
 */
#ifndef NSPROF_CALLTREE_H
#define NSPROF_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/lead_frames.h"
#include "profile/profile.h"

struct intern;

enum frame_hue {
	/* leading: comm, process, container */
	HUE_USER, HUE_KERNEL, HUE_JIT, HUE_INLINED, HUE_LEADING,
	HUE_STATES,		/* + enum lead_state: what a thread does */
};

struct calltree_node {
	uint32_t name;		/* intern id */
	uint32_t parent;	/* node index, smaller than its own; the root is its own parent */
	uint32_t child;		/* first child, 0 = none; unordered before calltree_sort() */
	uint32_t next;		/* next sibling, 0 = none */
	uint32_t depth;		/* the root (node 0) is 0 */
	uint8_t hue;		/* enum frame_hue */
	uint64_t self;		/* stacks that end here */
	uint64_t total;		/* after calltree_sum(): stacks that pass through or end here */
};

struct calltree {
	struct calltree_node *nodes;	/* owned; [0] is the root, which has no name */
	uint32_t n;
	size_t cap;
	uint32_t depth;			/* depth of the deepest node */
	struct intern *names;		/* owned */
	/* (parent, name, hue) -> node index: see calltree.c */
	struct child_slot *slots;
	size_t nslots;
};

struct calltree *calltree_new(void);
void calltree_free(struct calltree *t);

/*
 * Returns the node of child @name (in t->names) of @parent and creates it if it is new. Never
 * fails. A tree holds at most 2^32-2 nodes; beyond that the program exits, as it does when memory
 * runs out.
 */
uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t name, uint8_t hue);
/* Adds a node that the caller knows to be new; calltree_child() does not find it. */
uint32_t calltree_add(struct calltree *t, uint32_t parent, uint32_t name, uint8_t hue);
/* Counts @n stacks that end at @node. Saturates. */
void calltree_count(struct calltree *t, uint32_t node, uint64_t n);
/* The same, but it is @own, which is above @node, that has them as its own. */
void calltree_count_for(struct calltree *t, uint32_t node, uint32_t own, uint64_t n);
/* Computes the total of all nodes. Call once, after the last stack. */
void calltree_sum(struct calltree *t);
/* Sorts the children of a node by name, bytewise. */
void calltree_sort(struct calltree *t, uint32_t node);

/*
 * Builds the tree of @p, summed up, with the leading frames of @lead. @period: count periods; if
 * they are unknown, as in folded text, count samples. With several events, each has its own choice
 * (profile_event.by_period). Nodes whose share of all is below @least may
 * lack their children and be counted as if everything ended there; 0 creates all nodes. Free with
 * calltree_free().
 */
struct calltree *calltree_of(const struct profile *p, const struct lead *lead, bool period, double least);
/*
 * The same by groups: a leading node per group of threads, and below it nodes per group of frames.
 * @threads[i] is the group of thread i, @frames[i] that of frame i. Nodes are named by group
 * number; their hues are HUE_LEADING and HUE_USER.
 */
struct calltree *calltree_of_groups(const struct profile *p, const uint32_t *threads, const uint32_t *frames,
				    bool period);
/*
 * The same of the stacks that end with @state, without its frame unless they have no other. STATES:
 * of those that end with none. Their own function is that of wait_frames.h.
 */
struct calltree *calltree_of_state(const struct profile *p, const uint32_t *threads, const uint32_t *frames,
				   bool period, enum lead_state state);
/* Sets for each state, and for STATES, whether stacks of @p end with it. */
void calltree_states(const struct profile *p, bool have[STATES + 1]);

#endif
