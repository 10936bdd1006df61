/* Threads by tid, in the order of their last sample. */
#include "procs/threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

/*
 * A known stack may grow by merging up to this. That is far more than frames between two samples
 * use. It is little enough that the goroutine stacks of a Go heap do not become one range with
 * everything between them.
 */
#define STACK_SPAN_MAX (1ull << 20)
/* A thread that switched to a signal stack may have gone deeper than in any earlier sample. */
#define STACK_SLACK (64ull << 10)
/* A thread that runs longer after its exit is another one with that number. */
#define ENDED_NS 1000000000ull

void threads_init(struct threads *ts)
{
	memset(ts, 0, sizeof(*ts));
	ts->lru.prev = ts->lru.next = &ts->lru;
}

static void unlink_thread(struct thread *t)
{
	t->prev->next = t->next;
	t->next->prev = t->prev;
}

static void link_newest(struct threads *ts, struct thread *t)
{
	t->next = ts->lru.next;
	t->prev = &ts->lru;
	t->next->prev = t;
	ts->lru.next = t;
}

static void remove_thread(struct threads *ts, struct thread *t)
{
	u64map_del(&ts->by_tid, t->tid);
	unlink_thread(t);
	free(t);
}

void threads_fini(struct threads *ts)
{
	while (ts->lru.next != &ts->lru)
		remove_thread(ts, ts->lru.next);
	u64map_fini(&ts->by_tid);
}

struct thread *threads_find(const struct threads *ts, uint32_t tid)
{
	const uint64_t *slot = u64map_get(&ts->by_tid, tid);

	return slot ? (struct thread *)(uintptr_t)*slot : NULL;
}

struct thread *threads_touch(struct threads *ts, uint32_t pid, uint32_t tid)
{
	struct thread *t = threads_find(ts, tid);

	if (t && t->pid == pid) {
		if (ts->lru.next != t) {
			unlink_thread(t);
			link_newest(ts, t);
		}
		return t;
	}
	if (t)
		remove_thread(ts, t);
	if (ts->by_tid.n >= THREADS_MAX) {
		remove_thread(ts, ts->lru.prev);
		ts->evicted++;
	}
	t = xcalloc(1, sizeof(*t));
	t->pid = pid;
	t->tid = tid;
	link_newest(ts, t);
	*u64map_put(&ts->by_tid, tid, NULL) = (uintptr_t)t;
	return t;
}

void threads_drop(struct threads *ts, uint32_t tid)
{
	struct thread *t = threads_find(ts, tid);

	if (t)
		remove_thread(ts, t);
}

void threads_exit(struct threads *ts, uint32_t tid, uint64_t time)
{
	struct thread *t = threads_find(ts, tid);
	struct ended_thread *e = &ts->ended[ts->next_ended];

	if (!t)
		return;
	if (t->comm[0]) {
		*e = (struct ended_thread){ .tid = tid, .pid = t->pid, .time = time };
		memcpy(e->comm, t->comm, sizeof(e->comm));
		ts->next_ended = (ts->next_ended + 1) % THREADS_ENDED;
	}
	remove_thread(ts, t);
}

const char *threads_ended(const struct threads *ts, uint32_t pid, uint32_t tid, uint64_t time)
{
	for (unsigned int i = 0; i < THREADS_ENDED; i++) {
		const struct ended_thread *e = &ts->ended[i];

		if (e->tid == tid && e->pid == pid && time < e->time + ENDED_NS)
			return e->comm;
	}
	return NULL;
}

static bool overlap(const struct range *a, const struct range *b)
{
	return a->start <= b->end && b->start <= a->end;
}

size_t thread_learn_stack(struct thread *t, uint64_t sp, uint64_t size, struct range *others)
{
	const struct range now = { sp, sp + size };
	struct range all = now;
	size_t i, n = 0;

	if (now.end <= now.start)
		return 0;
	/* Ranges that touch the copy are the stack it was taken from; the rest are others. */
	for (i = 0; i < t->nstacks; i++) {
		if (overlap(&t->stacks[i], &now)) {
			all.start = MIN(all.start, t->stacks[i].start);
			all.end = MAX(all.end, t->stacks[i].end);
		} else {
			others[n++] = t->stacks[i];
		}
	}
	if (all.end - all.start > STACK_SPAN_MAX) {
		/* Keep what is nearest to the copy on either side. */
		all.start = MAX(all.start, now.start - MIN(now.start, STACK_SPAN_MAX / 2));
		all.end = MIN(all.end, now.end + STACK_SPAN_MAX / 2);
	}
	t->stacks[0] = all;
	t->nstacks = 1;
	for (i = 0; i < n && t->nstacks < THREAD_STACKS; i++)
		t->stacks[t->nstacks++] = others[i];
	for (i = 0; i < n; i++)
		others[i].start -= MIN(others[i].start, STACK_SLACK);
	return n;
}
