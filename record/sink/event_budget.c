#include "sink/event_budget.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

#define CPU_MAX 65536u
#define NS_PER_SEC 1000000000ull
/* A look after a longer pause counts as one after this, ns: nobody drained meanwhile. */
#define PAUSE_MAX NS_PER_SEC
/* Less than one part in this many of the budget is no reason why others cannot keep up. */
#define IDLE_PART 64u

void event_budget_init(struct event_budget *b, uint64_t limit, size_t nevents)
{
	*b = (struct event_budget){ .limit = limit, .n = nevents };
	b->ev = xcalloc(nevents, sizeof(*b->ev));
}

void event_budget_fini(struct event_budget *b)
{
	for (size_t i = 0; i < b->ncpu; i++) {
		free(b->cpu[i].bytes);
		free(b->cpu[i].last);
	}
	free(b->cpu);
	free(b->ev);
}

/* NULL: nothing is counted there. */
static struct budget_cpu *place_of(struct event_budget *b, uint32_t cpu, uint32_t event)
{
	if (cpu >= CPU_MAX || !b->ev[event].thins)
		return NULL;
	while (b->ncpu <= cpu) {
		XGROW(b->cpu, b->ncpu, b->cap_cpu);
		b->cpu[b->ncpu++] = (struct budget_cpu){
			.bytes = xcalloc(b->n, sizeof(uint64_t)), .last = xcalloc(b->n, sizeof(uint64_t)),
		};
	}
	return &b->cpu[cpu];
}

void event_budget_take(struct event_budget *b, uint32_t cpu, uint32_t event, uint64_t time, uint64_t bytes)
{
	struct budget_cpu *c = place_of(b, cpu, event);

	if (!c)
		return;
	c->bytes[event] += bytes;
	c->last[event] = time;
}

void event_budget_lost(struct event_budget *b, uint32_t cpu, uint32_t event, uint64_t time, uint64_t bytes)
{
	struct budget_cpu *c = place_of(b, cpu, event);

	if (!c)
		return;
	if (c->last[event] >= b->ev[event].changed)
		c->bytes[event] += bytes;
	c->last[event] = time;
}

static uint64_t total(const struct event_budget *b, const struct budget_cpu *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->n; i++)
		sum += c->bytes[i];
	return sum;
}

/* The event that wrote the most on @c, among those that may be thinned now. */
static struct budget_event *largest(const struct event_budget *b, const struct budget_cpu *c, uint64_t now, size_t *at)
{
	struct budget_event *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct budget_event *e = &b->ev[i];

		if (c->bytes[i] <= most || e->want >= BUDGET_LEVEL_MAX || (e->changed && now - e->changed < BUDGET_SETTLE_NS))
			continue;
		most = c->bytes[i];
		best = e;
		*at = i;
	}
	return best;
}

/* Lengthens the period of what wrote the most on @c until the rest fits @allowed bytes. */
static void thin(struct event_budget *b, struct budget_cpu *c, uint64_t allowed, uint64_t now)
{
	struct budget_event *e;
	size_t at = 0;

	while (total(b, c) > allowed && (e = largest(b, c, now, &at))) {
		e->want++;
		for (size_t i = 0; i < b->ncpu; i++)
			b->cpu[i].bytes[at] /= 2;
	}
}

struct change {
	void (*fn)(void *ctx, uint32_t event, uint32_t level);
	void *ctx;
	uint64_t now;
};

static void set_level(struct event_budget *b, size_t event, uint32_t level, const struct change *to)
{
	struct budget_event *e = &b->ev[event];

	e->level = e->want = level;
	e->changed = to->now;
	e->level_max = MAX(e->level_max, level);
	if (!e->first)
		e->first = to->now;
	to->fn(to->ctx, (uint32_t)event, level);
}

static void relax(struct event_budget *b, const struct change *to)
{
	uint32_t by = 1;

	while (by < BUDGET_RELAX_MAX && b->peak * (2u << by) <= 0.5)
		by++;
	for (size_t i = 0; i < b->n; i++) {
		struct budget_event *e = &b->ev[i];

		if (e->level && to->now - MAX(b->loud, e->changed) >= BUDGET_CALM_NS)
			set_level(b, i, e->level > by ? e->level - by : 0, to);
	}
}

/* How much of the budget all events used on a CPU in this look. */
static void note_use(struct event_budget *b, uint64_t now, uint64_t sum, uint64_t allowed)
{
	if (sum > allowed / 4) {
		b->loud = now;
		b->peak = 0;
	} else if (allowed) {
		b->peak = MAX(b->peak, (double)sum / (double)allowed);
	}
}

void event_budget_step(struct event_budget *b, uint64_t now, bool hurry, void (*fn)(void *ctx, uint32_t event, uint32_t level),
		       void *ctx)
{
	const struct change to = { fn, ctx, now };
	const uint64_t past = b->looked ? MIN(now - b->looked, PAUSE_MAX) : BUDGET_STEP_NS;
	const uint64_t allowed = (uint64_t)((double)b->limit * (double)past / NS_PER_SEC);
	const uint64_t burst = b->limit / 1000 * BUDGET_BURST_MS;

	if (b->looked && now - b->looked < BUDGET_STEP_NS)
		return;
	b->looked = now;
	for (size_t i = 0; i < b->ncpu; i++) {
		struct budget_cpu *c = &b->cpu[i];
		const uint64_t sum = total(b, c);

		note_use(b, now, sum, allowed);
		c->over = c->over + sum > allowed ? c->over + sum - allowed : 0;
		if (c->over > burst) {
			thin(b, c, allowed, now);
			c->over = 0;
		} else if (hurry && sum > allowed / IDLE_PART) {
			thin(b, c, sum / 2, now);
		}
	}
	for (size_t i = 0; i < b->ncpu; i++)
		memset(b->cpu[i].bytes, 0, b->n * sizeof(uint64_t));
	for (size_t i = 0; i < b->n; i++)
		if (b->ev[i].want != b->ev[i].level)
			set_level(b, i, b->ev[i].want, &to);
	relax(b, &to);
}
