#include "sink/switch_sums.h"

#include "base/util.h"

#define STATE_BITS 3
/* As in cpu_times.c: what switches sooner after its exit is still the one that ended. */
#define LINGER_NS UINT64_C(1000000000)
#define SWEEP_MIN 4096	/* threads */

enum {
	BEFORE,		/* it has no switch so far; in place of the time: its account when the recording began */
	PAUSED,		/* no switch since recording was switched on again */
	STARTING,	/* forked; no switch so far */
	ON,
	OFF,
	ENDED,
};

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static uint64_t pack(uint64_t since, unsigned int state)
{
	return since << STATE_BITS | state;
}

static unsigned int state_of(uint64_t v)
{
	return v & ((1u << STATE_BITS) - 1);
}

static uint64_t since_of(const struct switch_sums *s, uint64_t v)
{
	return state_of(v) == BEFORE ? s->start : v >> STATE_BITS;
}

/* From the thread's present time to @to. */
static uint64_t spell(struct switch_sums *s, uint64_t v, uint64_t to)
{
	const uint64_t since = MAX(since_of(s, v), s->start);

	s->last = MAX(s->last, to);
	return to > since ? to - since : 0;
}

void switch_sums_fini(struct switch_sums *s)
{
	u64map_fini(&s->threads);
}

/* Forgets threads that ended long ago. */
static void sweep(struct switch_sums *s)
{
	struct u64map live = U64MAP_INIT;
	uint64_t key, v;
	size_t it = 0;

	if (s->threads.n < MAX(s->sweep_at, (size_t)SWEEP_MIN))
		return;
	while (u64map_next(&s->threads, &it, &key, &v))
		if (state_of(v) != ENDED || s->last - MIN(s->last, since_of(s, v)) < LINGER_NS)
			*u64map_put(&live, key, NULL) = v;
	u64map_fini(&s->threads);
	s->threads = live;
	s->sweep_at = 2 * live.n;
}

/* The time of a thread up to @to, where its life ends or recording was switched off. */
static void end_spell(struct switch_sums *s, uint64_t v, uint64_t to)
{
	if (state_of(v) == ON)
		s->on_ns += spell(s, v, to);
	else if (state_of(v) == OFF || state_of(v) == BEFORE)
		s->off_ns += spell(s, v, to);
}

/* The thread has a switch, perhaps the first since recording was switched on again. */
static void see(uint64_t *v)
{
	if (state_of(*v) == PAUSED)
		*v = pack(0, BEFORE);
}

/* Recording is switched on again. A forked thread may have run in between. */
static void resume(struct switch_sums *s)
{
	struct u64map live = U64MAP_INIT;
	uint64_t key, v;
	size_t it = 0;

	while (u64map_next(&s->threads, &it, &key, &v)) {
		end_spell(s, v, s->stop);
		if (state_of(v) != STARTING)
			*u64map_put(&live, key, NULL) = state_of(v) == ENDED ? v : pack(0, PAUSED);
	}
	u64map_fini(&s->threads);
	s->threads = live;
}

void switch_sums_toggle(struct switch_sums *s, bool on, uint64_t time)
{
	if (on != s->off)
		return;
	if (on) {
		resume(s);
		s->start = time;
	} else {
		s->stop = time;
	}
	s->off = !on;
}

void switch_sums_found(struct switch_sums *s, uint32_t pid, uint32_t tid, uint64_t run_ns)
{
	bool is_new;
	uint64_t *v;

	if (s->off)
		return;
	v = u64map_put(&s->threads, key_of(pid, tid), &is_new);
	s->nthreads += is_new;
	if (is_new || state_of(*v) == PAUSED)
		*v = pack(run_ns, BEFORE);
}

void switch_sums_begin(struct switch_sums *s, uint32_t pid, uint32_t tid, uint64_t time)
{
	uint64_t *v;
	bool is_new;

	sweep(s);
	v = u64map_put(&s->threads, key_of(pid, tid), &is_new);
	if (!is_new && s->off)
		end_spell(s, *v, s->stop);
	else if (!is_new && state_of(*v) != ENDED && state_of(*v) != STARTING && state_of(*v) != PAUSED)
		s->unknown_ns += spell(s, *v, time);
	*v = pack(time, STARTING);
}

uint64_t switch_sums_since(const struct switch_sums *s, uint32_t pid, uint32_t tid)
{
	const uint64_t *v = u64map_get(&s->threads, key_of(pid, tid));

	return v && state_of(*v) != BEFORE && state_of(*v) != PAUSED ? since_of(s, *v) : 0;
}

bool switch_sums_off(const struct switch_sums *s, uint32_t pid, uint32_t tid)
{
	const uint64_t *v = u64map_get(&s->threads, key_of(pid, tid));

	return v && state_of(*v) == OFF;
}

bool switch_sums_idle(const struct switch_sums *s, uint32_t pid, uint32_t tid, uint64_t run_ns)
{
	const uint64_t *v = u64map_get(&s->threads, key_of(pid, tid));

	return v && state_of(*v) == BEFORE && *v >> STATE_BITS == run_ns;
}

void switch_sums_switch(struct switch_sums *s, const struct ev_switch *sw)
{
	bool is_new;
	uint64_t *v, ns;

	if (s->off)
		return;
	v = u64map_put(&s->threads, key_of(sw->pid, sw->tid), &is_new);
	see(v);
	if (is_new) {
		*v = pack(0, BEFORE);
		s->nthreads++;
	} else if (state_of(*v) == ENDED) {
		if (sw->time - MIN(sw->time, since_of(s, *v)) < LINGER_NS)
			return;
		*v = pack(sw->time, OFF);
		s->nthreads++;
	} else if (state_of(*v) == STARTING) {
		s->nthreads++;
	}
	ns = spell(s, *v, sw->time);
	if (sw->out && (state_of(*v) == ON || state_of(*v) == BEFORE))
		s->on_ns += ns;
	else if (!sw->out && state_of(*v) != ON)
		s->off_ns += ns;
	else
		s->unknown_ns += ns;
	*v = pack(sw->time, sw->out ? OFF : ON);
}

void switch_sums_exit(struct switch_sums *s, const struct ev_task *ev)
{
	bool is_new;
	uint64_t *v = u64map_put(&s->threads, key_of(ev->pid, ev->tid), &is_new);

	if (!is_new && !s->off)
		see(v);
	if (!is_new && !s->off && state_of(*v) == OFF)
		s->unknown_ns += spell(s, *v, ev->time);
	else if (!is_new)
		end_spell(s, *v, s->off ? s->stop : ev->time);
	*v = pack(ev->time, ENDED);
}

void switch_sums_read(struct switch_sums *s, const struct ev_schedstat *ev)
{
	uint64_t *v = u64map_get(&s->threads, key_of(ev->pid, ev->tid));
	const uint64_t first = v ? *v >> STATE_BITS : 0;

	if (!s->off)
		s->last = MAX(s->last, ev->time);
	if (v && !s->off && state_of(*v) == PAUSED)
		*v = pack(ev->run_ns, BEFORE);
	/* Without a switch, it ran all the time or never. */
	if (v && state_of(*v) == BEFORE && ev->run_ns > first && ev->run_ns - first > spell(s, *v, s->off ? s->stop : ev->time) / 2)
		*v = pack(s->start, ON);
}

void switch_sums_end(struct switch_sums *s)
{
	uint64_t key, v;
	size_t it = 0;

	while (u64map_next(&s->threads, &it, &key, &v))
		end_spell(s, v, s->off ? s->stop : s->last);
	u64map_clear(&s->threads);
}
