/*
 * What a filter left out, and whether that shows in what is left. A stack deeper than its copy is joined to frames
 * known from other samples (join.h): of the thread before it, and of all threads of the process. Where such a stack is kept, stacks
 * that are left out have to be walked all the same; else they need not be. Which is known afterwards.
 */
#ifndef NSPROF_LEFTOUT_H
#define NSPROF_LEFTOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/filter.h"

/* What a thread has had, as a thread of one process. */
enum leftout_flag {
	LEFTOUT_DEEP = 1,	/* a sample that was kept, with a stack deeper than its copy */
	LEFTOUT_SKIPPED = 2,	/* one that was not, and its stack not walked */
	LEFTOUT_SEEN = 4,	/* any */
};

struct leftout {
	uint64_t by_key[FILTER_KEYS];	/* samples, by what they missed first */
	struct u64map threads;	/* pid << 32 | tid -> leftout_flags */
};

void leftout_fini(struct leftout *lo);
/* Thread @tid, when it was one of process @pid. */
void leftout_note(struct leftout *lo, uint32_t pid, uint32_t tid, uint32_t flags);
void leftout_add(struct leftout *to, const struct leftout *from);
uint64_t leftout_samples(const struct leftout *lo);
/*
 * Might something have been joined, or not have been, because of stacks that were not walked? Then @tids
 * has the threads of which all have to be walked.
 */
bool leftout_matters(const struct leftout *lo, struct u64map *tids);

#endif
