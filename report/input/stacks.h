/*
 * Stacks in no order on their way into a profile. They are looked for many at a time (profile_paths()), by a thread of
 * its own where there is a CPU for it, while the caller makes more of them.
 */
#ifndef NSPROF_STACKS_H
#define NSPROF_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct stacks;

/* Into @p, which the caller leaves alone until stacks_finish(), but for profile_frame() and strings. */
struct stacks *stacks_new(struct profile *p);
/*
 * One of @n frames (of the profile, root first, at least one), of which the first @same are those of the stack that was
 * added before it; counted @samples times.
 */
void stacks_add(struct stacks *s, const uint32_t *frames, size_t n, size_t same, uint64_t samples);
/* All are in the profile, counted in the order they were added. Frees @s; accepts NULL. */
void stacks_finish(struct stacks *s);

#endif
