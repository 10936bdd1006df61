/*
 * The threads whose switches are recorded, and when they began. The process table writes forks and
 * exits only of processes that have samples. Threads that wait have switches and perhaps no sample,
 * and without their beginning they would seem to have waited since the recording began.
 *
 * Side-band is of the whole host if the target is a cgroup. There, a thread belongs to the target if
 * its creator did, or from its first switch on.
 */
#ifndef NSPROF_SWITCH_THREADS_H
#define NSPROF_SWITCH_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"

/* Threads that are remembered. With more, all are forgotten: what begins next is found again. */
#define SWITCH_THREADS_MAX (1u << 16)

struct switch_threads {
	bool on;		/* switches are recorded; otherwise nothing is remembered */
	bool all;		/* all threads that side-band reports are in the target */
	struct u64map known;	/* switch_threads_key() to true: the recording has its times at its beginning */
	struct u64map elsewhere;	/* began outside of the target, as far as is known */
	uint32_t execs;		/* switch_threads_execs(); 0: nobody does */
};

void switch_threads_fini(struct switch_threads *t);

static inline uint64_t switch_threads_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* Has the recording its times at its beginning? */
static inline bool switch_threads_timed(const struct switch_threads *t, uint32_t pid, uint32_t tid)
{
	const uint64_t *timed = u64map_get(&t->known, switch_threads_key(pid, tid));

	return timed && *timed;
}

/* The recording has the thread's times at its beginning. */
void switch_threads_found(struct switch_threads *t, uint32_t pid, uint32_t tid);
/* Process @pid exists, and comes into the target with its next exec. */
void switch_threads_execs(struct switch_threads *t, uint32_t pid);
/* True if it comes into the target with this exec of @pid. */
bool switch_threads_exec(struct switch_threads *t, uint32_t pid);
/* True if the thread begins in the target, and the recording has to say so. */
bool switch_threads_fork(struct switch_threads *t, const struct ev_task *ev);
/*
 * True if it was in the target. One that is not known yet may be: if it ran since before the recording, its
 * first switch is the last one, after its exit.
 */
bool switch_threads_exit(struct switch_threads *t, const struct ev_task *ev);
/* True if the thread comes into the target with this switch, after it began elsewhere. */
bool switch_threads_switch(struct switch_threads *t, const struct ev_switch *sw);

#endif
