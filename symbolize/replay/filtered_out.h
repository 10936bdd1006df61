/*
 * What a filter left out, and whether that shows in what is left. A stack deeper than its copy is joined to frames
 * known from other samples (stack_join.h): of the thread before it, and of all threads of the process. Where such a stack is kept, stacks
 * that are left out have to be walked all the same; else they need not be. Which is known afterwards.
 */
#ifndef NSPROF_FILTERED_OUT_H
#define NSPROF_FILTERED_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/filter.h"

/* What a thread has had, as a thread of one process. */
enum filtered_out_flag {
	LEFTOUT_DEEP = 1,	/* a sample that was kept, with a stack deeper than its copy */
	LEFTOUT_SKIPPED = 2,	/* one that was not, and its stack not walked */
	LEFTOUT_SEEN = 4,	/* any */
};

struct filtered_out {
	uint64_t by_key[FILTER_KEYS];	/* samples, by what they missed first */
	struct u64map threads;	/* pid << 32 | tid -> leftout_flags */
};

void filtered_out_fini(struct filtered_out *lo);
/* Thread @tid, when it was one of process @pid. */
void filtered_out_note(struct filtered_out *lo, uint32_t pid, uint32_t tid, uint32_t flags);
void filtered_out_add(struct filtered_out *to, const struct filtered_out *from);
uint64_t filtered_out_samples(const struct filtered_out *lo);
/*
 * Might something have been joined, or not have been, because of stacks that were not walked? Then @tids
 * has the threads of which all have to be walked.
 */
bool filtered_out_matters(const struct filtered_out *lo, struct u64map *tids);

#endif
