/* Whose stacks had to be cut: the containers of threads, each with a number of stacks. */
#ifndef NSPROF_OWNERS_H
#define NSPROF_OWNERS_H

#include <stdint.h>

#include "profile/profile.h"

struct owners {
	uint32_t *of;		/* owned; thread -> its container's number */
	uint32_t *containers;	/* owned; by number: string */
	uint64_t *cut;		/* owned; by number: stacks */
	uint32_t n;
};

/* The owners of the stacks of @n threads; no stack was cut so far. Free with owners_fini(). */
void owners_init(struct owners *o, const struct profile_thread *threads, uint32_t n);
void owners_fini(struct owners *o);
/*
 * Calls @line for each of the containers with most cut stacks, and once for the others together. @why:
 * "deep" or "long". Lines are text (escape.h).
 */
void owners_tell(const struct owners *o, const struct profile *p, const char *why, void (*line)(void *ctx, const char *text), void *ctx);

#endif
