/*
 * Turns a saved profile or folded text into what nsprof-symbolize would have written with other
 * options.
 */
#ifndef NSPROF_RESHAPE_H
#define NSPROF_RESHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Returns a new profile owned by the caller; frees @p, which must be finished. @no_inline: inlined
 * functions count for the function that contains them. @merge_threads: merges threads of a process
 * whose names differ only in numbers (threadname.h). The name that a process has from its program
 * stays: it is the beginning of the name of a file in which the process has functions.
 */
struct profile *reshape(struct profile *p, bool no_inline, bool merge_threads);
/*
 * Returns @p, finished, as a new profile without the frames for which @left_out[frame] is true;
 * frees @p.
 */
struct profile *reshape_without(struct profile *p, const bool *left_out);
/*
 * Returns @p, finished, as a new profile whose counts @move may change; frees @p. @from is a count of
 * @p, @c the same in @to, which @move may add frames and nodes to.
 */
struct profile *reshape_counts(struct profile *p,
			       void (*move)(void *ctx, struct profile *to, const struct profile_count *from, struct profile_count *c),
			       void *ctx);

/*
 * Adds @p's nodes to @to and returns the new ids, indexed by @p's. @frames maps @p's frames to
 * @to's; 0: the frame is left out and its parent stands in for it. Owned by the caller.
 */
uint32_t *reshape_nodes(struct profile *to, const struct profile *p, const uint32_t *frames);
/* The same for @p's threads. */
uint32_t *reshape_threads(struct profile *to, const struct profile *p);

#endif
