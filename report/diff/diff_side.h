/* One side of a comparison as one profile, with names as they are compared: for the page that shows both. */
#ifndef NSPROF_DIFF_SIDE_H
#define NSPROF_DIFF_SIDE_H

#include "diff/diff.h"

/*
 * All inputs of @side put together, from their beginnings on; finished, the caller's. Times are kept where all
 * inputs have the same width of blocks.
 */
struct profile *diff_side(const struct diff_input *in, size_t n, unsigned int side, const struct diff_opts *opts);
/* @p's frames in @to, ids by those of @p. Owned by the caller. */
uint32_t *diff_side_frames(struct profile *to, const struct profile *p, const struct diff_opts *opts);

#endif
