/* Both sides' stacks in one tree, including vanished and new ones. */
#ifndef NSPROF_DIFF_TREE_H
#define NSPROF_DIFF_TREE_H

#include <stdio.h>

#include "diff/diff.h"

struct profile;

struct diff_tree {
	struct profile *profile;	/* owned; only nodes and frames, with names as compared */
	double (*self)[DIFF_SIDES];	/* owned; [node]: the before side, scaled to the after side */
	double (*total)[DIFF_SIDES];	/* owned; [node] */
	bool kernel_apart;		/* as in struct diff */
};

/* @in: the inputs of diff_new(), which made @d. Free with diff_tree_free(). */
struct diff_tree *diff_tree_new(const struct diff_input *in, size_t n, const struct diff *d);
void diff_tree_free(struct diff_tree *t);

/*
 * Writes "root;caller;leaf BEFORE AFTER" lines in the format of difffolded.pl, sorted, for
 * flamegraph.pl. Kernel functions end in _[k] if they are told apart.
 */
void diff_write_folded(const struct diff_tree *t, FILE *to);
/*
 * Writes a flame graph of both sides together, so that it also shows what vanished. Red: more,
 * blue: less, grey: no more than chance. @title may be NULL.
 */
void diff_write_svg(const struct diff_tree *t, const struct diff *d, const char *title, const char *subtitle, FILE *to);

#endif
