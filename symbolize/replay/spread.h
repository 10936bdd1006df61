/*
 * Samples by thread and by time, besides by stack: for a profile (profile.h). Stacks stay in their tree; here is how many
 * of each node whose and when they were. Memory grows with the samples, not with samples times frames.
 */
#ifndef NSPROF_SPREAD_H
#define NSPROF_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/profile.h"

struct intern;

/* One thread in one block of time. */
struct spread_slot {
	uint32_t thread;	/* in spread.threads */
	uint32_t block;
};

struct spread_count {
	uint32_t slot, node;
	uint64_t samples, period;
};

struct spread {
	struct intern *texts;		/* borrowed: what the strings of threads are ids of */
	struct profile_thread *threads;	/* owned */
	struct spread_slot *slots;	/* owned; [0] is nothing's */
	struct spread_count *counts;	/* owned */
	size_t nthreads, threads_cap, nslots, slots_cap, ncounts, counts_cap;
	struct u64map thread_index;	/* hash -> thread */
	struct u64map slot_index;	/* thread << 32 | block -> slot */
	struct u64map count_index;	/* slot << 32 | node -> count */
};

void spread_init(struct spread *s, struct intern *texts);
void spread_fini(struct spread *s);
/* Number of the thread equal to @t in all fields. */
uint32_t spread_thread(struct spread *s, const struct profile_thread *t);
/* Number of the slot, 1 and up. */
uint32_t spread_slot(struct spread *s, uint32_t thread, uint32_t block);
/* Counts at @node in @slot. Sums stop at the largest value. */
void spread_count(struct spread *s, uint32_t slot, uint32_t node, uint64_t samples, uint64_t period);
/* What @from has, whose node i is @nodes[i] here. */
void spread_add(struct spread *s, const struct spread *from, const uint32_t *nodes);

#endif
