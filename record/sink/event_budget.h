/*
 * How much unbounded events may write, and which of them is thinned when it is too much. The budget
 * is one of bytes per second on each CPU, for all of them together. It may be exceeded for a moment:
 * by as much as it allows in BUDGET_BURST_MS. Then the event that wrote the most on that CPU gets a
 * longer period, a power of two of its own one. When all has been calm for a while, it gets a
 * shorter one again.
 */
#ifndef NSPROF_EVENT_BUDGET_H
#define NSPROF_EVENT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_BURST_MS 250u
/* Between two looks, ns. */
#define BUDGET_STEP_NS 20000000ull
/* An event keeps its period for this long, ns: a round of draining comes between two changes. */
#define BUDGET_SETTLE_NS 150000000ull
/*
 * With less than a quarter of the budget in use for this long, ns, periods are halved again, several
 * times at once if half of the budget allows it.
 */
#define BUDGET_CALM_NS 2000000000ull
#define BUDGET_RELAX_MAX 4u
/* A period is doubled at most so many times. */
#define BUDGET_LEVEL_MAX 24u

struct budget_event {
	bool thins;		/* it may get a longer period */
	uint32_t level;		/* its period is 2^level times its own one */
	uint32_t want;		/* the level at the end of a look */
	uint64_t changed;	/* ns: when it got it; 0 = never */
	uint32_t level_max;	/* the highest so far */
	uint64_t first;		/* ns: when it was thinned for the first time; 0 = never */
};

struct budget_cpu {
	uint64_t *bytes;	/* owned; since the latest look, for each event */
	uint64_t *last;		/* owned; time of the latest record, ns, for each event */
	uint64_t over;		/* bytes beyond the budget that were not made up for */
};

struct event_budget {
	uint64_t limit;		/* bytes per second and CPU */
	struct budget_event *ev;	/* owned */
	size_t n;
	struct budget_cpu *cpu;	/* owned; by CPU number */
	size_t ncpu, cap_cpu;
	uint64_t looked;	/* ns; 0 = never */
	uint64_t loud;		/* ns: when more than a quarter of the budget was last in use */
	double peak;		/* the largest part of the budget in use since then */
};

void event_budget_init(struct event_budget *b, uint64_t limit, size_t nevents);
void event_budget_fini(struct event_budget *b);

/* At @time (ns), @event wrote @bytes on @cpu. */
void event_budget_take(struct event_budget *b, uint32_t cpu, uint32_t event, uint64_t time, uint64_t bytes);
/*
 * The same for what found no room since the event's last record there. That does not count if the
 * event has got another period since then: the loss may be from before.
 */
void event_budget_lost(struct event_budget *b, uint32_t cpu, uint32_t event, uint64_t time, uint64_t bytes);

/*
 * Looks whether a period has to change. @now in ns. @hurry: what is behind the rings cannot keep up,
 * so that less is taken, unless it is next to nothing already.
 * Calls @fn for each event that gets another level.
 */
void event_budget_step(struct event_budget *b, uint64_t now, bool hurry, void (*fn)(void *ctx, uint32_t event, uint32_t level),
		       void *ctx);

#endif
