/*
 * Stacks merged into a tree, root first. Counts are what the folded text counts: samples, or a period.
 * The report side knows no addresses: a frame is a name and the kind its annotation gave.
 */
#ifndef NSPROF_CALLTREE_H
#define NSPROF_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

struct intern;

enum frame_hue {
	HUE_USER, HUE_KERNEL, HUE_JIT, HUE_INLINED, HUE_LEADING,	/* leading: comm, process, container */
};

struct calltree_node {
	uint32_t name;		/* intern id, annotation taken off */
	uint32_t parent;	/* node index; the root is its own parent */
	uint32_t child;		/* first child in the order of names after calltree_sort(), 0 = none */
	uint32_t next;		/* next sibling, 0 = none */
	uint32_t depth;		/* the root (node 0) is 0 */
	uint8_t hue;		/* enum frame_hue */
	uint64_t self;		/* stacks that end here */
	uint64_t total;		/* stacks that pass here, those that end here included */
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

/* Node of child @name (@len bytes) of @parent, made when new. Fails never; at most 2^32-2 nodes (the program
 * ends beyond, as when memory is out). */
uint32_t calltree_child(struct calltree *t, uint32_t parent, const char *name, size_t len, uint8_t hue);
/* Count @n stacks that end at @node, on it and on all its ancestors. Saturates. */
void calltree_count(struct calltree *t, uint32_t node, uint64_t n);
/* Put siblings in the bytewise order of their names. Call it once, after the last stack. */
void calltree_sort(struct calltree *t);

#endif
