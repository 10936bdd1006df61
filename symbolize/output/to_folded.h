/*
 * Folded stacks: "frame;frame;leaf COUNT\n", root first (flamegraph.pl's input). Sorted by bytes,
 * equal lines merged, frames "[kernel]" in a row shown as one, so that the same recording gives the
 * same bytes every time.
 */
#ifndef NSPROF_TO_FOLDED_H
#define NSPROF_TO_FOLDED_H

#include <stdbool.h>
#include <stdio.h>

#include "naming/naming.h"
#include "replay/stacktree.h"

enum fold_weight {
	FOLD_BEST,	/* not said: samples, unless their periods vary */
	FOLD_SAMPLES,
	FOLD_PERIOD,
};

/* "samples" or "period": 0 or -EINVAL. */
int fold_parse_weight(const char *text, enum fold_weight *out);

/*
 * @tree: of location ids, all of them named in @nm, whose frames are clean (escape.h). Write errors
 * are left in @to's error flag.
 */
void fold_write(FILE *to, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight);

/*
 * The same as several texts, one for each first frame, and without that. Each stack has a second one. @next is asked for
 * the stream of a first frame's lines, in their order, when those before it are written. Returns -EIO when it has none.
 */
int fold_write_split(const struct stacktree *tree, const struct naming *nm, enum fold_weight weight,
		     FILE *(*next)(void *ctx, const char *first), void *ctx);

#endif
