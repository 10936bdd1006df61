/*
 * How many stacks --off-cpu takes of threads that leave the CPU. A copy costs the thread some
 * microseconds, so with many switches only one of about so many gives a stack. Their number is that
 * of the user, or is adapted on each CPU, so that copies stay below WAITS_COPIES per second
 * and below what its ring holds in the time that it should (RING_MS).
 *
 * A fixed period meets periodic waits always at the same place: of two that alternate, an even one
 * never sees the second. So it is drawn again every OFF_CPU_STEP_NS, on each CPU, from the odd primes
 * around the mean.
 */
#ifndef NSPROF_OFF_CPU_H
#define NSPROF_OFF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/open.h"
#include "sink/sink.h"
#include "sink/sink_switches.h"

#define OFF_CPU_STEP_NS 100000000ull
/* Events that get another period in one step. Each takes microseconds, and events of threads may be many. */
#define OFF_CPU_CHANGES_MAX 256u

struct off_cpu_rate {		/* of one CPU of the target */
	uint64_t outs;		/* at the latest step */
	uint64_t mean;		/* switches per stack; 0: not known yet */
	uint64_t period;	/* the one in force */
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

void off_cpu_init(struct off_cpu *o, struct events *ev, const struct sink *sink);
void off_cpu_fini(struct off_cpu *o);
/* After each drain; @now in ns. */
void off_cpu_step(struct off_cpu *o, uint64_t now);

/*
 * A period around @mean, an odd prime or 1, so that @mean is the mean of many. @random: any number,
 * a new one each time.
 */
uint64_t off_cpu_draw(uint64_t mean, uint64_t random);
/* The mean at which @outs switches in @ns give at most @copies (not 0) stacks per second. */
uint64_t off_cpu_mean(uint64_t outs, uint64_t ns, uint64_t copies);

#endif
