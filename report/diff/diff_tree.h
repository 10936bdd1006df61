/* Both sides' stacks in one tree: what vanished and what is new included. */
#ifndef NSPROF_DIFF_TREE_H
#define NSPROF_DIFF_TREE_H

#include <stdio.h>

#include "diff/diff.h"

struct profile;

struct diff_tree {
	struct profile *profile;	/* owned; nodes and frames only, names as they are compared */
	double (*self)[DIFF_SIDES];	/* owned; [node]: the before side on the after side's scale */
	double (*total)[DIFF_SIDES];	/* owned; [node] */
	bool kernel_apart;		/* as in struct diff */
};

/* Of the inputs that @d was made of. Own with diff_tree_free(). */
struct diff_tree *diff_tree_new(const struct diff_input *in, size_t n, const struct diff *d);
void diff_tree_free(struct diff_tree *t);

/* "root;caller;leaf BEFORE AFTER" lines as of difffolded.pl, sorted, for flamegraph.pl. The kernel's functions end in _[k] if they are told apart. */
void diff_write_folded(const struct diff_tree *t, FILE *to);
/*
 * A flame graph of both sides together, so that nothing that vanished is missing: red is more, blue is less, grey is no more
 * than chance. @title may be NULL.
 */
void diff_write_svg(const struct diff_tree *t, const struct diff *d, const char *title, const char *subtitle, FILE *to);

#endif
