/*
 * Adds unsorted stacks to a profile. Lookups are done in batches (profile_paths()), on a separate
 * thread if there is a CPU for it, while the caller produces more stacks.
 */
#ifndef NSPROF_STACKS_H
#define NSPROF_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct stacks;

/* The caller must not touch @p until stacks_finish(), except with profile_frame() and strings. */
struct stacks *stacks_new(struct profile *p);
/*
 * Adds one stack of @n frames (of the profile, root first, at least one), counted @samples times.
 * The first @same frames equal those of the previously added stack.
 */
void stacks_add(struct stacks *s, const uint32_t *frames, size_t n, size_t same, uint64_t samples);
/*
 * Puts all stacks into the profile, counted in the order in which they were added. Frees @s;
 * accepts NULL.
 */
void stacks_finish(struct stacks *s);

#endif
