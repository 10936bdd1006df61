/* One side of a comparison as one profile, with names as compared. The page shows both. */
#ifndef NSPROF_DIFF_SIDE_H
#define NSPROF_DIFF_SIDE_H

#include "diff/diff.h"

/*
 * Merges all inputs of @side, aligned at their beginnings. The result is finished and owned by the
 * caller. It keeps times if all inputs have the same block width.
 */
struct profile *diff_side(const struct diff_input *in, size_t n, unsigned int side, const struct diff_opts *opts);
/* Adds @p's frames to @to; returns the new ids, indexed by @p's. Owned by the caller. */
uint32_t *diff_side_frames(struct profile *to, const struct profile *p, const struct diff_opts *opts);

#endif
