/* The tree of a page, from one profile or two: siblings sorted by name, numbered in preorder. */
#ifndef NSPROF_HTML_TREE_H
#define NSPROF_HTML_TREE_H

#include <stdint.h>

struct profile;

struct html_node {
	uint32_t frame;		/* index into html_tree.frames; 0 at the root only */
	uint32_t depth;		/* the root is 0 */
};

struct html_tree {
	struct profile *all;	/* strings and frames of both; joined frames appear as ordinary ones */
	uint32_t *source;	/* id in all->frames -> string of all; 0: none */
	uint32_t *frames;	/* ids of all->frames, sorted by name; [0] unused */
	struct html_node *nodes;	/* [0] is the root */
	uint32_t nframes, nnodes;
	uint32_t *place[2];	/* node of a profile -> its number here */
};

/* @b may be NULL. Free with html_tree_free(). */
struct html_tree *html_tree_new(const struct profile *a, const struct profile *b);
void html_tree_free(struct html_tree *t);

#endif
