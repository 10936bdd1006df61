/*
 * How many stacks --off-cpu takes of threads that leave the CPU. A copy costs the thread some
 * microseconds, so with many switches only one of about so many gives a stack. Their number is that
 * of the user, or is adapted on each CPU, so that copies stay below WAITS_COPIES per second
 * and below what its ring holds in the time that it should (RING_MS).
 *
 * A fixed period meets periodic waits always at the same place. So each event gets a new one from the
 * odd primes around the mean (odd_period.h), after it has taken OFF_CPU_SAMPLES samples. Not sooner:
 * the kernel begins to count again at each change (_perf_event_period() in kernel/events/core.c), so
 * an event that comes less than once per period between two changes would take no sample at all.
 */
#ifndef NSPROF_OFF_CPU_H
#define NSPROF_OFF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/open.h"
#include "evlist/evlist.h"
#include "sink/sink.h"
#include "sink/sink_switches.h"

#define OFF_CPU_STEP_NS 100000000ull
/*
 * Samples that an event takes with one period. At each change, up to a period of what it counted is
 * lost, or the kernel takes one sample more, so the mean is off by a 32nd or a 16th.
 */
#define OFF_CPU_SAMPLES 16u
/* A period that is so much shorter or longer than the mean is changed at once. */
#define OFF_CPU_FAR 4u
/* Events that get another period in one step. Each takes microseconds, and events of threads may be many. */
#define OFF_CPU_CHANGES_MAX 256u

struct off_cpu_rate {		/* of one CPU of the target */
	uint64_t outs;		/* at the latest step */
	uint64_t mean;		/* switches per stack */
};

struct off_cpu {
	struct events *ev;	/* borrowed, as sink */
	const struct sink *sink;
	size_t event;		/* SIZE_MAX: there is nothing to do */
	struct off_cpu_rate *cpu;	/* owned; by number among the target's */
	uint64_t stepped;	/* ns */
	uint64_t random;
	bool known;		/* how many switches there are was seen once */
	uint64_t copies;	/* stacks per second and CPU that are allowed */
	size_t next;		/* the event that is next to get its period */
};

/*
 * Before anything is opened: adds the event of --off-cpu to @el, and finds what reports wake-ups. 0, or
 * negative errno after a message.
 */
int off_cpu_check(const struct record_opts *o, struct evlist *el, struct wakeup_source *wakeups);

void off_cpu_init(struct off_cpu *o, struct events *ev, const struct sink *sink);
void off_cpu_fini(struct off_cpu *o);
/* After each drain; @now in ns. */
void off_cpu_step(struct off_cpu *o, uint64_t now);

/*
 * Does an event get a new period? It has taken @samples since it got @period, which is to be @mean on
 * average.
 */
bool off_cpu_due(uint64_t samples, uint64_t period, uint64_t mean);
/* The mean at which @outs switches in @ns give at most @copies (not 0) stacks per second. */
uint64_t off_cpu_mean(uint64_t outs, uint64_t ns, uint64_t copies);

#endif
