/*
 * Folded stacks: "frame;frame;leaf COUNT\n", root first (flamegraph.pl's input). Lines are sorted
 * bytewise, equal lines are merged, and adjacent "[kernel]" frames become one. So the same
 * recording gives the same bytes every time.
 */
#ifndef NSPROF_TO_FOLDED_H
#define NSPROF_TO_FOLDED_H

#include <stdbool.h>
#include <stdio.h>

#include "naming/naming.h"
#include "replay/stacktree.h"

enum fold_weight {
	FOLD_BEST,	/* default: samples, unless their periods vary */
	FOLD_SAMPLES,
	FOLD_PERIOD,
};

/* Parses "samples" or "period": 0 or -EINVAL. */
int fold_parse_weight(const char *text, enum fold_weight *out);

/*
 * @tree: of location ids, all named in @nm, with frames of folded text (folded_frame.h). Write errors are left in
 * @to's error flag.
 */
void fold_write(FILE *to, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight);

/*
 * The same as several texts, one for each first frame, which is left out. Each stack must have a
 * second frame. Calls @next for the stream of each first frame, after the previous text is
 * complete: first for those that @early accepts, then for the others, both in order. Returns -EIO
 * if @next returns NULL.
 */
int fold_write_split(const struct stacktree *tree, const struct naming *nm, enum fold_weight weight,
		     bool (*early)(const char *first), FILE *(*next)(void *ctx, const char *first), void *ctx);

#endif
