/* Times of threads on and off the CPU (cpu_times.h). */
#include "recording/cpu_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"

/*
 * Switches come in batches, after other events that are newer. This many of those wait for them. A
 * batch spans a block, half a second; on a host that forks faster than this in that time, some
 * lives begin or end too early.
 */
#define WAITING_MAX (1u << 16)
/*
 * A thread still leaves the CPU for good after its exit event, and may be preempted before that. A
 * number that switches later than this belongs to another thread, whose fork was lost.
 */
#define LINGER_NS UINT64_C(1000000000)
/*
 * A thread that is about to sleep can be woken before it has left the CPU. If it leaves so much later, it
 * stayed awake that time.
 */
#define NEAR_NS UINT64_C(1000000)
#define ENDED_MAX (1u << 18)	/* exits to remember */
#define FORKS_MAX (1u << 20)	/* forks of threads that have not been seen yet */
#define NONE UINT32_MAX

/* An event that waits for older switches. */
struct waiting {
	enum { W_FORK, W_EXIT, W_WAKEUP, W_SCHEDSTAT, W_ON, W_OFF } kind;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t run_ns, wait_ns;
};

struct cpu_times {
	uint64_t now, last;	/* ns; of the last switch, of any event */
	struct cpu_window *windows;	/* owned; at least one; the last one ends at UINT64_MAX while it goes on */
	size_t nwindows, windows_cap;
	const struct cpu_times_ops *ops;
	void *ctx;
	struct cpu_thread *threads;	/* owned */
	size_t n, cap;
	struct u64map live;		/* thread -> index in @threads */
	struct u64map forks;		/* threads without a switch so far -> time of the fork */
	struct u64map ended;		/* thread -> time of its exit */
	struct waiting *waiting;	/* owned; a ring of WAITING_MAX, oldest first */
	uint32_t first, nwaiting;
	struct cpu_times_doubts doubts;
	bool misses_wakeups;
};

struct cpu_times *cpu_times_new(uint64_t start, const struct cpu_times_ops *ops, void *ctx)
{
	struct cpu_times *t = xcalloc(1, sizeof(*t));

	t->now = t->last = start;
	XGROW(t->windows, t->nwindows, t->windows_cap);
	t->windows[t->nwindows++] = (struct cpu_window){ start, UINT64_MAX };
	t->ops = ops;
	t->ctx = ctx;
	return t;
}

void cpu_times_free(struct cpu_times *t)
{
	if (!t)
		return;
	u64map_fini(&t->live);
	u64map_fini(&t->forks);
	u64map_fini(&t->ended);
	free(t->windows);
	free(t->threads);
	free(t->waiting);
	free(t);
}

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* A thread that is gone has the number -1 in its last switch. */
static bool is_thread(uint32_t pid, uint32_t tid)
{
	return pid && tid && (int32_t)pid > 0 && (int32_t)tid > 0;
}

/* ---- windows ---- */

static struct cpu_window *present(const struct cpu_times *t)
{
	return &t->windows[t->nwindows - 1];
}

static bool is_off(const struct cpu_times *t)
{
	return present(t)->to != UINT64_MAX;
}

static void take_toggle(struct cpu_times *t, const struct waiting *ev)
{
	struct cpu_window *w = present(t);

	if ((ev->kind == W_ON) != is_off(t))
		return;
	if (ev->kind == W_OFF) {
		w->to = MAX(ev->time, w->from);
	} else if (t->nwindows < CPU_WINDOWS_MAX) {
		const uint64_t from = MAX(ev->time, w->to);

		XGROW(t->windows, t->nwindows, t->windows_cap);
		t->windows[t->nwindows++] = (struct cpu_window){ from, UINT64_MAX };
	}
}

/* ---- lives ---- */

static uint32_t begin_life(struct cpu_times *t, uint32_t pid, uint32_t tid)
{
	const uint64_t key = key_of(pid, tid), *fork = u64map_get(&t->forks, key), from = present(t)->from;
	struct cpu_thread *th;

	if (t->n >= CPU_TIMES_MAX)
		return NONE;
	XGROW(t->threads, t->n, t->cap);
	th = &t->threads[t->n];
	*th = (struct cpu_thread){ .pid = pid, .tid = tid, .begin = from, .state = CPU_STATES, .window = (uint32_t)t->nwindows - 1 };
	if (fork) {
		th->begin = MAX(*fork, from);
		/* Forked while recording was off, it may have done anything since. */
		th->forked = th->fresh = th->have_first = *fork >= from || t->nwindows == 1;
		u64map_del(&t->forks, key);
	}
	th->since = th->end = th->begin;
	*u64map_put(&t->live, key, NULL) = t->n;
	return (uint32_t)t->n++;
}

static uint32_t life_of(const struct cpu_times *t, uint32_t pid, uint32_t tid)
{
	const uint64_t *at = u64map_get(&t->live, key_of(pid, tid));

	return at ? (uint32_t)*at : NONE;
}

/* Ends the current spell at @to. */
static void end_spell(struct cpu_times *t, uint32_t i, uint64_t to, enum cpu_state state, bool open)
{
	struct cpu_thread *th = &t->threads[i];
	struct cpu_spell s;

	to = MAX(to, th->since);
	s = (struct cpu_spell){ .thread = i, .state = state, .from = th->since, .to = to, .open = open,
				.before = state == CPU_BLOCKED && th->state == CPU_STATES };
	th->ns[state] += to - th->since;
	th->spells[state]++;
	/* Nothing else woke it. If the wait goes on, it stayed awake then, and fell asleep later. */
	if (state == CPU_BLOCKED && !th->waking && th->woken_early && !open && !t->misses_wakeups)
		th->waking = MAX(th->since, 1ull);
	if (state == CPU_BLOCKED && th->waking) {
		s.waking = MIN(MAX(th->waking, th->since), to);
		th->queued_ns += to - s.waking;
		th->queued++;
	}
	if (state == CPU_GAP && to > th->since) {
		t->doubts.gaps++;
		t->doubts.gap_ns += to - th->since;
	}
	th->since = th->end = to;
	th->waking = 0;
	th->woken_early = false;
	/* The callback may not keep @th, but it may look at it. */
	if (t->ops->spell)
		t->ops->spell(t->ctx, &s);
}

/* A thread without any switch ran all the time or never. Only the kernel's account tells which. */
static enum cpu_state undecided(const struct cpu_thread *th, uint64_t to)
{
	const uint64_t run = th->sched_run_ns - th->earlier_run_ns;

	if (th->fresh)
		return th->have_sched && !run ? CPU_STARTING : CPU_GAP;
	return th->have_sched && run > (to - MIN(to, th->since)) / 2 ? CPU_ON : CPU_BEFORE;
}

/* What it is doing when the window in which it was seen last ends at @to. */
static enum cpu_state at_end(const struct cpu_thread *th, uint64_t to)
{
	return th->state == CPU_STATES ? undecided(th, to) : (enum cpu_state)th->state;
}

static void end_life(struct cpu_times *t, uint32_t i, uint64_t to, enum cpu_state state, bool open)
{
	struct cpu_thread *th = &t->threads[i];

	u64map_del(&t->live, key_of(th->pid, th->tid));
	th->have_sched &= !th->unaccounted;
	end_spell(t, i, to, state, open);
	if (t->ops->ended)
		t->ops->ended(t->ctx, i);
}

/* It was not seen in a later window. False: the one in which it was seen goes on. */
static bool end_with_window(struct cpu_times *t, uint32_t i)
{
	const struct cpu_thread *th = &t->threads[i];
	const uint64_t to = t->windows[th->window].to;

	if (to == UINT64_MAX)
		return false;
	end_life(t, i, to, at_end(th, to), true);
	return true;
}

/* It is seen in the present window. Nothing is known of what it did before that. */
static void resume(struct cpu_times *t, uint32_t i)
{
	struct cpu_thread *th = &t->threads[i];
	const uint64_t from = present(t)->from, to = t->windows[th->window].to;

	if (th->window == t->nwindows - 1)
		return;
	end_spell(t, i, to, at_end(th, to), true);
	th->paused_ns += from - MIN(th->end, from);
	th->since = th->end = MAX(th->end, from);
	th->state = CPU_STATES;
	th->window = (uint32_t)t->nwindows - 1;
	th->unaccounted |= !th->have_sched;
	th->earlier_run_ns = th->sched_run_ns;
	th->earlier_wait_ns = th->sched_wait_ns;
	th->fresh = th->have_first = th->have_sched = false;
}

/* ---- events ---- */

static void take_fork(struct cpu_times *t, const struct waiting *ev)
{
	const uint64_t key = key_of(ev->pid, ev->tid);
	uint32_t i = life_of(t, ev->pid, ev->tid);

	/* Its exit was lost. */
	if (i != NONE && !end_with_window(t, i))
		end_life(t, i, ev->time, CPU_GAP, false);
	u64map_del(&t->ended, key);
	if (t->forks.n >= FORKS_MAX)
		u64map_clear(&t->forks);
	*u64map_put(&t->forks, key, NULL) = ev->time;
}

static void take_exit(struct cpu_times *t, const struct waiting *ev)
{
	const uint64_t key = key_of(ev->pid, ev->tid);
	uint32_t i = life_of(t, ev->pid, ev->tid);

	if (i != NONE) {
		struct cpu_thread *th = &t->threads[i];

		th->exited = true;
		if (!is_off(t))
			resume(t, i);
		if (!end_with_window(t, i))
			end_life(t, i, ev->time, th->state == CPU_ON || th->state == CPU_STATES ? at_end(th, ev->time) : CPU_GAP, false);
	}
	u64map_del(&t->forks, key);
	if (t->ended.n >= ENDED_MAX)
		u64map_clear(&t->ended);
	*u64map_put(&t->ended, key, NULL) = ev->time;
}

static void take_wakeup(struct cpu_times *t, const struct waiting *ev)
{
	uint32_t i = life_of(t, ev->pid, ev->tid);
	struct cpu_thread *th;

	if (is_off(t))
		return;
	if (i == NONE && !u64map_get(&t->ended, key_of(ev->pid, ev->tid)))
		i = begin_life(t, ev->pid, ev->tid);
	if (i == NONE)
		return;
	resume(t, i);
	th = &t->threads[i];
	if (ev->time < th->since)
		return;
	/*
	 * On a CPU, it was about to sleep. Either it stays, or it is on its way into the scheduler.
	 * Only the following wait shows which: another wake-up comes in it, or none.
	 */
	if (th->state == CPU_ON || th->state == CPU_STATES || (th->state == CPU_BLOCKED && !th->waking))
		th->waking = MAX(ev->time, 1ull);
}

static void take_schedstat(struct cpu_times *t, const struct waiting *ev)
{
	uint32_t i = life_of(t, ev->pid, ev->tid);
	struct cpu_thread *th;

	if (i == NONE && !is_off(t) && !u64map_get(&t->ended, key_of(ev->pid, ev->tid)))
		i = begin_life(t, ev->pid, ev->tid);
	if (i == NONE)
		return;
	/* Read as recording was switched off, it belongs to the window before. */
	if (!is_off(t))
		resume(t, i);
	th = &t->threads[i];
	if (!th->have_first) {
		th->have_first = true;
		th->first_run_ns = ev->run_ns;
		th->first_wait_ns = ev->wait_ns;
		return;
	}
	if (ev->run_ns < th->first_run_ns || ev->wait_ns < th->first_wait_ns)
		return;
	th->have_sched = true;
	th->sched_run_ns = th->earlier_run_ns + ev->run_ns - th->first_run_ns;
	th->sched_wait_ns = th->earlier_wait_ns + ev->wait_ns - th->first_wait_ns;
}

static void take(struct cpu_times *t, const struct waiting *ev)
{
	switch (ev->kind) {
	case W_FORK:
		take_fork(t, ev);
		break;
	case W_EXIT:
		take_exit(t, ev);
		break;
	case W_WAKEUP:
		take_wakeup(t, ev);
		break;
	case W_SCHEDSTAT:
		take_schedstat(t, ev);
		break;
	case W_ON:
	case W_OFF:
		take_toggle(t, ev);
		break;
	}
}

/* Takes the waiting events that are not newer than @time. */
static void take_until(struct cpu_times *t, uint64_t time)
{
	while (t->nwaiting && t->waiting[t->first].time <= time) {
		const struct waiting ev = t->waiting[t->first];

		t->first = (t->first + 1) % WAITING_MAX;
		t->nwaiting--;
		take(t, &ev);
	}
}

static void queue(struct cpu_times *t, const struct waiting *ev)
{
	uint32_t at;

	if (!t->waiting)
		t->waiting = xcalloc(WAITING_MAX, sizeof(*t->waiting));
	if (t->nwaiting == WAITING_MAX)
		take_until(t, t->waiting[t->first].time);
	/* Readings of times are newer than the switches and forks that are drained after them. */
	at = t->nwaiting++;
	for (; at && t->waiting[(t->first + at - 1) % WAITING_MAX].time > ev->time; at--)
		t->waiting[(t->first + at) % WAITING_MAX] = t->waiting[(t->first + at - 1) % WAITING_MAX];
	t->waiting[(t->first + at) % WAITING_MAX] = *ev;
	cpu_times_until(t, ev->time);
}

static void put_off(struct cpu_times *t, const struct waiting *ev)
{
	if (is_thread(ev->pid, ev->tid))
		queue(t, ev);
}

void cpu_times_fork(struct cpu_times *t, const struct ev_task *ev)
{
	put_off(t, &(struct waiting){ .kind = W_FORK, .pid = ev->pid, .tid = ev->tid, .time = ev->time });
}

void cpu_times_exit(struct cpu_times *t, const struct ev_task *ev)
{
	put_off(t, &(struct waiting){ .kind = W_EXIT, .pid = ev->pid, .tid = ev->tid, .time = ev->time });
}

void cpu_times_wakeup(struct cpu_times *t, const struct ev_wakeup *ev)
{
	put_off(t, &(struct waiting){ .kind = W_WAKEUP, .pid = ev->pid, .tid = ev->tid, .time = ev->time });
}

void cpu_times_miss_wakeups(struct cpu_times *t)
{
	t->misses_wakeups = true;
}

void cpu_times_schedstat(struct cpu_times *t, const struct ev_schedstat *ev)
{
	const bool begins = !ev->run_ns && !ev->wait_ns && !ev->slices;

	put_off(t, &(struct waiting){ .kind = begins ? W_FORK : W_SCHEDSTAT, .pid = ev->pid, .tid = ev->tid, .time = ev->time,
				      .run_ns = ev->run_ns, .wait_ns = ev->wait_ns });
}

void cpu_times_toggle(struct cpu_times *t, const struct ev_toggle *ev)
{
	queue(t, &(struct waiting){ .kind = ev->on ? W_ON : W_OFF, .time = ev->time });
}

/* The life that switches at @time; NONE: it is over, or there is no room. */
static uint32_t switching(struct cpu_times *t, const struct ev_switch *ev, uint64_t time)
{
	const uint64_t key = key_of(ev->pid, ev->tid), *ended;
	uint32_t i = life_of(t, ev->pid, ev->tid);

	if (i != NONE)
		return i;
	ended = u64map_get(&t->ended, key);
	if (ended && time - MIN(*ended, time) < LINGER_NS)
		return NONE;
	i = begin_life(t, ev->pid, ev->tid);
	if (i == NONE)
		t->doubts.untracked++;
	else if (ended)		/* the fork is lost: nothing is known of the time before */
		t->threads[i].begin = t->threads[i].since = t->threads[i].end = time;
	u64map_del(&t->ended, key);
	return i;
}

void cpu_times_switch(struct cpu_times *t, const struct ev_switch *ev)
{
	uint64_t time = MAX(ev->time, t->now);
	enum cpu_state before;
	struct cpu_thread *th;
	bool early;
	uint32_t i;

	if (!is_thread(ev->pid, ev->tid))
		return;
	t->doubts.disordered += ev->time < t->now;
	t->now = time;
	cpu_times_until(t, time);
	take_until(t, time);
	/* Only some CPUs record, as it is being switched on or off. */
	if (is_off(t))
		return;
	i = switching(t, ev, time);
	if (i == NONE)
		return;
	resume(t, i);
	th = &t->threads[i];
	before = th->state;
	if (before == CPU_STATES) {
		if (th->fresh)
			before = ev->out ? CPU_GAP : CPU_STARTING;
		else
			before = ev->out ? CPU_ON : CPU_BEFORE;
	} else if ((before == CPU_ON) != ev->out) {
		before = CPU_GAP;
	}
	if (before == CPU_BEFORE && th->waking) {
		const uint64_t waking = th->waking;

		/* Until then it slept, whatever it did before. From then on all is known. */
		end_spell(t, i, waking, CPU_BEFORE, false);
		th = &t->threads[i];
		th->waking = waking;
		before = CPU_BLOCKED;
	}
	early = before == CPU_ON && ev->out && !ev->preempted && th->waking && time - th->waking <= NEAR_NS;
	end_spell(t, i, time, before, false);
	th = &t->threads[i];
	th->state = !ev->out ? CPU_ON : ev->preempted ? CPU_PREEMPTED : CPU_BLOCKED;
	th->woken_early = early;
}

void cpu_times_until(struct cpu_times *t, uint64_t time)
{
	t->last = MAX(t->last, time);
}

void cpu_times_end(struct cpu_times *t)
{
	take_until(t, UINT64_MAX);
	if (!is_off(t))
		present(t)->to = MAX(t->last, present(t)->from);
	for (uint32_t i = 0; i < t->n; i++) {
		struct cpu_thread *th = &t->threads[i];
		const uint64_t to = t->windows[th->window].to;
		const enum cpu_state state = at_end(th, to);

		if (life_of(t, th->pid, th->tid) != i)
			continue;
		th->open = th->window == t->nwindows - 1 && state != CPU_ON;
		end_life(t, i, to, state, true);
	}
}

/* ---- results ---- */

const struct cpu_thread *cpu_times_threads(const struct cpu_times *t, size_t *n)
{
	*n = t->n;
	return t->threads;
}

struct cpu_times_doubts cpu_times_doubts(const struct cpu_times *t)
{
	return t->doubts;
}

const struct cpu_window *cpu_times_windows(const struct cpu_times *t, size_t *n)
{
	*n = t->nwindows;
	return t->windows;
}
