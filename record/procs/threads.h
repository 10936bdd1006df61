/*
 * What is known of single threads: their comm and the stacks they were seen on. Bounded: the thread
 * that was not seen for the longest time is dropped.
 */
#ifndef NSPROF_THREADS_H
#define NSPROF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "mask/maskset.h"
#include "procfs/proc_facts.h"

#define THREADS_MAX 16384
#define THREAD_STACKS 4
#define THREADS_ENDED 64

struct thread {
	uint32_t tid, pid;
	char comm[COMM_LEN];	/* "" = not known yet */
	uint64_t comm_time;	/* ns, of its record; 0 = from no record */
	uint32_t introduced;	/* the segment to which its comm was last written; 0 = none yet */
	bool renamed;		/* the first one: has another comm than its process in the recording */
	uint32_t turn;		/* counts samples while some are dropped */
	uint8_t nstacks;
	struct range stacks[THREAD_STACKS];	/* runtime addresses, the latest first */
	struct thread *prev, *next;		/* newest first */
};

struct ended_thread {
	uint32_t tid, pid;
	uint64_t time;		/* ns, of its exit */
	char comm[COMM_LEN];
};

struct threads {
	struct u64map by_tid;	/* tid to struct thread * */
	struct thread lru;	/* list head */
	uint64_t evicted;
	struct ended_thread ended[THREADS_ENDED];	/* the latest, in a circle */
	unsigned int next_ended;
};

void threads_init(struct threads *ts);
void threads_fini(struct threads *ts);

/* NULL when unknown. Borrowed until the next threads_touch(). */
struct thread *threads_find(const struct threads *ts, uint32_t tid);
/*
 * Finds or adds a thread, which is now the latest. Forgets a thread of another process with that
 * tid.
 */
struct thread *threads_touch(struct threads *ts, uint32_t pid, uint32_t tid);
void threads_drop(struct threads *ts, uint32_t tid);
/* The thread ended at @time, ns: drops it, and keeps its comm for a while. */
void threads_exit(struct threads *ts, uint32_t tid, uint64_t time);
/*
 * The comm of a thread that ended within the second before @time, ns: it may still be on its way out
 * of the kernel. NULL when unknown. Borrowed until the next threads_exit().
 */
const char *threads_ended(const struct threads *ts, uint32_t pid, uint32_t tid, uint64_t time);

/*
 * The thread runs on [@sp, @sp + @size): learns that. If the range is not empty, @t->stacks[0] is
 * then all that is known of this stack. Writes up to THREAD_STACKS other stacks that the thread was
 * seen on to @others and returns how many.
 */
size_t thread_learn_stack(struct thread *t, uint64_t sp, uint64_t size, struct range *others);

#endif
