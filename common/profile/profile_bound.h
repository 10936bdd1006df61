/*
 * Bounds what a profile costs its readers. Nodes share the beginnings of stacks, so a small file can
 * hold many stacks that are very deep, and what walks each of them takes the square of its size. Stacks
 * that are too deep lose frames in their middle.
 */
#ifndef NSPROF_PROFILE_BOUND_H
#define NSPROF_PROFILE_BOUND_H

#include "profile/fair_level.h"
#include "profile/profile.h"

/* The frame that stands for what was left out. */
#define BOUND_LEFT_OUT "[frames_left_out]"
/* Frames that a cut stack keeps beside the leaf. */
#define BOUND_INNERMOST 16u

struct profile_limits {
	struct fair_limit frames;	/* of the stacks of all counts; each: per count */
	struct fair_limit nodes;	/* of the trees of all threads; each: per count */
};

/*
 * No stack of 1,024 frames, nsprof-symbolize's default, is cut for the frames, however many there are.
 * A thread of a real program has few nodes per count, because most of its stacks begin alike.
 */
#define FAIR_FRAMES { 1u << 25, 1024 }
#define PROFILE_LIMITS { FAIR_FRAMES, { 1u << 22, 128 } }

/*
 * Cuts stacks of @p, finished, where these limits are exceeded, container by container. Warns, and adds
 * a note, for each of the containers with most of them. @name: of the input. Most profiles stay as they
 * are.
 */
void profile_bound(struct profile *p, const struct profile_limits *limits, const char *name);

#endif
