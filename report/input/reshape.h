/* A profile that was saved, or folded text, as nsprof-symbolize would have written it with other options. */
#ifndef NSPROF_RESHAPE_H
#define NSPROF_RESHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * @p, finished, as a new profile that is the caller's; @p is freed. @no_inline: what was inlined counts for the function it is in.
 * @merge_threads: threads of a process that differ by numbers are one (threadname.h). The name that a process has from its program stays: it begins
 * that of a file in which the process has functions.
 */
struct profile *reshape(struct profile *p, bool no_inline, bool merge_threads);
/* @p, finished, as a new profile without the frames for which @left_out, by frame, is true; @p is freed. */
struct profile *reshape_without(struct profile *p, const bool *left_out);

/* @p's nodes in @to by those of @p, with frames by @frames, 0: left out, and their parents instead. Owned by the caller. */
uint32_t *reshape_nodes(struct profile *to, const struct profile *p, const uint32_t *frames);
/* @p's threads in @to, in the same way. */
uint32_t *reshape_threads(struct profile *to, const struct profile *p);

#endif
