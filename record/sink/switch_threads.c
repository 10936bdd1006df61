#include "sink/switch_threads.h"

void switch_threads_fini(struct switch_threads *t)
{
	u64map_fini(&t->known);
	u64map_fini(&t->elsewhere);
}

static void put(struct u64map *m, uint64_t key, bool value)
{
	if (m->n >= SWITCH_THREADS_MAX)
		u64map_clear(m);
	*u64map_put(m, key, NULL) = value;
}

void switch_threads_found(struct switch_threads *t, uint32_t pid, uint32_t tid)
{
	const uint64_t key = switch_threads_key(pid, tid);

	if (!t->on)
		return;
	u64map_del(&t->elsewhere, key);
	put(&t->known, key, true);
}

void switch_threads_execs(struct switch_threads *t, uint32_t pid)
{
	if (!t->on)
		return;
	t->execs = pid;
	put(&t->elsewhere, switch_threads_key(pid, pid), true);
}

bool switch_threads_exec(struct switch_threads *t, uint32_t pid)
{
	if (!t->on || pid != t->execs || !u64map_get(&t->elsewhere, switch_threads_key(pid, pid)))
		return false;
	switch_threads_found(t, pid, pid);
	return true;
}

bool switch_threads_fork(struct switch_threads *t, const struct ev_task *ev)
{
	const uint64_t key = switch_threads_key(ev->pid, ev->tid);
	const bool ours = t->all || u64map_get(&t->known, switch_threads_key(ev->ppid, ev->ptid));

	if (!t->on)
		return false;
	if (ours)
		put(&t->known, key, true);
	else
		put(&t->elsewhere, key, true);
	return ours;
}

bool switch_threads_exit(struct switch_threads *t, const struct ev_task *ev)
{
	const uint64_t key = switch_threads_key(ev->pid, ev->tid);

	u64map_del(&t->elsewhere, key);
	return u64map_del(&t->known, key) || (t->on && t->all);
}

bool switch_threads_switch(struct switch_threads *t, const struct ev_switch *sw)
{
	const uint64_t key = switch_threads_key(sw->pid, sw->tid);
	bool came;

	if (!t->on || u64map_get(&t->known, key))
		return false;
	came = u64map_del(&t->elsewhere, key);
	/* A thread that has ended leaves once more. */
	if (came || !sw->out)
		put(&t->known, key, false);
	return came;
}
