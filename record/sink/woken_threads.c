#include "sink/woken_threads.h"

enum {
	FOUND,		/* known, without a switch so far */
	ON,		/* a wake-up finds it only as it is about to sleep */
	ASLEEP,
	READY,		/* off, but it was preempted or woken; or it was found and has been woken once */
	ENDED,		/* it leaves the CPU once more, and for good */
};

void woken_threads_fini(struct woken_threads *t)
{
	u64map_fini(&t->threads);
}

static uint64_t pack(uint32_t pid, unsigned int state)
{
	return (uint64_t)pid << 32 | state;
}

/* The last switch of a thread that has ended may have no number. */
static void sweep(struct woken_threads *t)
{
	struct u64map live = U64MAP_INIT;
	uint64_t tid, v;
	size_t it = 0;

	while (u64map_next(&t->threads, &it, &tid, &v))
		if ((uint32_t)v != ENDED)
			*u64map_put(&live, tid, NULL) = v;
	u64map_fini(&t->threads);
	t->threads = live;
	if (live.n > WOKEN_THREADS_MAX / 2)
		u64map_clear(&t->threads);
}

void woken_threads_found(struct woken_threads *t, uint32_t pid, uint32_t tid)
{
	uint64_t *v;
	bool is_new;

	if (t->threads.n >= WOKEN_THREADS_MAX)
		sweep(t);
	v = u64map_put(&t->threads, tid, &is_new);
	if (is_new)
		*v = pack(pid, FOUND);
}

void woken_threads_switch(struct woken_threads *t, const struct ev_switch *sw)
{
	uint64_t *v;
	bool is_new;

	if (t->threads.n >= WOKEN_THREADS_MAX)
		sweep(t);
	v = u64map_put(&t->threads, sw->tid, &is_new);
	if (!is_new && (uint32_t)*v == ENDED && sw->out)
		u64map_del(&t->threads, sw->tid);
	else
		*v = pack(sw->pid, !sw->out ? ON : sw->preempted ? READY : ASLEEP);
}

void woken_threads_exit(struct woken_threads *t, uint32_t tid)
{
	uint64_t *v = u64map_get(&t->threads, tid);

	if (v)
		*v = ENDED;
}

bool woken_threads_wake(struct woken_threads *t, uint32_t tid, uint32_t *pid)
{
	uint64_t *v = u64map_get(&t->threads, tid);

	if (!v || (uint32_t)*v == READY || (uint32_t)*v == ENDED)
		return false;
	*pid = (uint32_t)(*v >> 32);
	if ((uint32_t)*v != ON)
		*v = pack(*pid, READY);
	return true;
}
