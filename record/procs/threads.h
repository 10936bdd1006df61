/*
 * What is known of single threads: their comm and the stacks they were seen on. Bounded: the thread
 * that was not seen for longest makes room.
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

struct thread {
	uint32_t tid, pid;
	char comm[COMM_LEN];	/* "" = not known yet */
	uint64_t comm_time;	/* ns, of the record it is from; 0 = it is from none */
	uint32_t introduced;	/* segment its comm was written in last; 0 = not yet */
	uint32_t turn;		/* samples while some are dropped */
	uint8_t nstacks;
	struct range stacks[THREAD_STACKS];	/* runtime addresses, the latest first */
	struct thread *prev, *next;		/* newest first */
};

struct threads {
	struct u64map by_tid;	/* tid to struct thread * */
	struct thread lru;	/* list head */
	uint64_t evicted;
};

void threads_init(struct threads *ts);
void threads_fini(struct threads *ts);

/* NULL when unknown. Borrowed until the next threads_touch(). */
struct thread *threads_find(const struct threads *ts, uint32_t tid);
/* Found or new, and now the latest; one of another process under that tid is forgotten. */
struct thread *threads_touch(struct threads *ts, uint32_t pid, uint32_t tid);
void threads_drop(struct threads *ts, uint32_t tid);

/*
 * The thread runs on [@sp, @sp + @size): learn that. Of a stack that is not empty @t->stacks[0] is all that is
 * known then. Writes up to THREAD_STACKS other stacks it was
 * seen on to @others and returns how many.
 */
size_t thread_learn_stack(struct thread *t, uint64_t sp, uint64_t size, struct range *others);

#endif
