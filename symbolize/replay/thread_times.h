/*
 * Samples by thread and time, in addition to their stacks: for a profile (profile.h). Stacks stay
 * in their tree; this counts the samples of each node by thread and time. Memory grows with the
 * samples, not with samples times frames.
 */
#ifndef NSPROF_THREAD_TIMES_H
#define NSPROF_THREAD_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "profile/profile.h"

struct intern;

/* One thread in one block of time, for one event. */
struct thread_times_slot {
	uint32_t thread;	/* in spread.threads */
	uint32_t event;
	uint32_t block;
};

struct thread_times_count {
	uint32_t slot, node;
	uint64_t samples, period;
};

struct thread_times {
	struct intern *texts;		/* borrowed; the strings of threads are ids in it */
	struct profile_thread *threads;	/* owned */
	struct thread_times_slot *slots;	/* owned; [0] is not used */
	struct thread_times_count *counts;	/* owned */
	size_t nthreads, threads_cap, nslots, slots_cap, ncounts, counts_cap;
	struct u64map thread_index;	/* hash -> thread */
	struct u64map slot_index;	/* thread << 32 | event << 20 | block -> slot */
	struct u64map count_index;	/* slot << 32 | node -> count */
};

void thread_times_init(struct thread_times *s, struct intern *texts);
void thread_times_fini(struct thread_times *s);
/* The index of the thread equal to @t in all fields; it is added if new. */
uint32_t thread_times_thread(struct thread_times *s, const struct profile_thread *t);
/*
 * The number of a slot, from 1; it is added if new. @event: below SAMPLED_EVENTS_MAX; for others than 0,
 * @block is below PROFILE_BLOCKS_MAX.
 */
uint32_t thread_times_slot(struct thread_times *s, uint32_t thread, uint32_t event, uint32_t block);
/* Adds to the count of @node in @slot. Sums stop at the largest value. */
void thread_times_count(struct thread_times *s, uint32_t slot, uint32_t node, uint64_t samples, uint64_t period);
/* The numbers here of the slots of @from, which are added if new. Owned by the caller. */
uint32_t *thread_times_slots(struct thread_times *s, const struct thread_times *from);
/* Adds the counts of @from. Its node i is @nodes[i] here, and its slot i is @slots[i]. */
void thread_times_add(struct thread_times *s, const struct thread_times *from, const uint32_t *nodes, const uint32_t *slots);

#endif
