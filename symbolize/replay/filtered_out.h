/*
 * What a filter, or the choice of one event, rejected, and whether that affects the kept samples. A stack deeper than its copy
 * is joined to frames of other samples (stack_join.h): earlier ones of its thread, and any of its
 * process. If such a stack is kept, the rejected stacks have to be unwound as well; otherwise they
 * need not be. This is known only afterwards.
 */
#ifndef NSPROF_FILTERED_OUT_H
#define NSPROF_FILTERED_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/filter.h"

/* What was seen of a thread while it was in one process. */
enum filtered_out_flag {
	LEFTOUT_DEEP = 1,	/* a kept sample with a stack deeper than its copy */
	LEFTOUT_SKIPPED = 2,	/* a rejected sample, whose stack was not unwound */
	LEFTOUT_SEEN = 4,	/* a kept sample */
};

struct filtered_out {
	uint64_t by_key[FILTER_KEYS];	/* samples, by the first key that did not match */
	struct u64map threads;	/* pid << 32 | tid -> filtered_out_flag bits */
};

void filtered_out_fini(struct filtered_out *lo);
/* Notes @flags for thread @tid of process @pid. */
void filtered_out_note(struct filtered_out *lo, uint32_t pid, uint32_t tid, uint32_t flags);
void filtered_out_add(struct filtered_out *to, const struct filtered_out *from);
uint64_t filtered_out_samples(const struct filtered_out *lo);
/*
 * Could stacks that were not unwound have changed how others are joined? Fills @tids with the
 * threads whose stacks all have to be unwound then.
 */
bool filtered_out_matters(const struct filtered_out *lo, struct u64map *tids);

#endif
