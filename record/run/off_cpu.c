#include "run/off_cpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "events/ringplan.h"

#define NS_PER_SEC 1000000000ull
/* Fewer switches than come in so much time say nothing about their rate, ns. */
#define BURST_NS 2000000ull

static bool is_prime(uint64_t n)
{
	if (n < 3 || n % 2 == 0)
		return false;
	for (uint64_t d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return false;
	return true;
}

/* Up to a half around the mean, at random: the first odd prime from there in one direction, or 1. */
static uint64_t prime_below(uint64_t mean, uint64_t random)
{
	uint64_t n = mean - random % (mean / 2 + 1);

	while (n > 1 && !is_prime(n))
		n--;
	return MAX(n, 1ull);
}

static uint64_t prime_above(uint64_t mean, uint64_t random)
{
	uint64_t n = mean + random % (mean / 2 + 1);

	while (!is_prime(n))
		n++;
	return n;
}

uint64_t off_cpu_draw(uint64_t mean, uint64_t random)
{
	const uint64_t more = hash_combine(random, 1);
	uint64_t low, high;

	if (mean <= 1)
		return 1;
	low = prime_below(mean, random);
	high = prime_above(mean, more);
	if (low == high)
		return mean;
	/* The nearer one is taken more often. */
	return hash_combine(more, 2) % (high - low) < mean - low ? high : low;
}

uint64_t off_cpu_mean(uint64_t outs, uint64_t ns, uint64_t copies)
{
	const double a_second = ns ? (double)outs * (double)NS_PER_SEC / (double)ns : 0;

	return (uint64_t)(a_second / (double)copies) + 1;
}

void off_cpu_init(struct off_cpu *o, struct events *ev, const struct sink *sink)
{
	const uint64_t ring = events_split(ev) ? ev->extra_bytes : ev->data_bytes;
	const size_t event = events_waits(ev);

	*o = (struct off_cpu){ .ev = ev, .sink = sink, .event = SIZE_MAX };
	if (event == SIZE_MAX || !events_varies(ev, event))
		return;
	o->event = event;
	o->copies = MAX(MIN(ring / ev->record_bytes * 1000 / RING_MS, (uint64_t)WAITS_COPIES), 1ull);
	o->cpu = xcalloc(ev->target->ncpus, sizeof(*o->cpu));
	for (uint32_t c = 0; c < ev->target->ncpus; c++)
		o->cpu[c].mean = o->cpu[c].period = ev->v[event].period;
}

void off_cpu_fini(struct off_cpu *o)
{
	free(o->cpu);
}

/* More switches count at once, fewer of them step by step: the next burst may come soon. */
static void adapt(const struct off_cpu *o, uint32_t c, uint64_t past)
{
	struct off_cpu_rate *r = &o->cpu[c];
	const uint64_t outs = sink_switches_outs(o->sink, o->ev->target->cpus[c]);
	const uint64_t mean = off_cpu_mean(outs - r->outs, past, o->copies);

	r->outs = outs;
	r->mean = o->known ? MAX(mean, r->mean - (r->mean + 3) / 4) : mean;
}

/* Came on some CPU in this step more than twice the stacks that are allowed? */
static bool bursts(const struct off_cpu *o)
{
	for (uint32_t c = 0; c < o->ev->target->ncpus && o->ev->v[o->event].sel.every; c++) {
		const struct off_cpu_rate *r = &o->cpu[c];
		const uint64_t outs = sink_switches_outs(o->sink, o->ev->target->cpus[c]) - r->outs;

		if (outs / r->mean > 2 * o->copies * OFF_CPU_STEP_NS / NS_PER_SEC + 1)
			return true;
	}
	return false;
}

static void set_period(struct off_cpu *o, const struct event_fd *e)
{
	uint64_t period = o->cpu[e->cpu].period;

	if (ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period))
		pr_verbose("off-cpu: the kernel keeps the period of one event");
}

/* All events of a CPU have one period, as together they are what that CPU switches. */
static void set_periods(struct off_cpu *o)
{
	const struct events *ev = o->ev;
	size_t changes = 0;

	for (size_t i = 0; i < ev->nsamples && changes < OFF_CPU_CHANGES_MAX; i++) {
		const struct event_fd *e = &ev->samples[o->next++ % ev->nsamples];

		if (e->event != o->event)
			continue;
		set_period(o, e);
		changes++;
	}
	o->next = ev->nsamples ? o->next % ev->nsamples : 0;
}

void off_cpu_step(struct off_cpu *o, uint64_t now)
{
	const uint64_t past = now - o->stepped;
	bool fixed = true;

	if (o->event == SIZE_MAX || (o->stepped && past < OFF_CPU_STEP_NS && (past < BURST_NS || !bursts(o))))
		return;
	for (uint32_t c = 0; c < o->ev->target->ncpus; c++) {
		struct off_cpu_rate *r = &o->cpu[c];

		if (o->ev->v[o->event].sel.every && o->stepped)
			adapt(o, c, past);
		o->random = hash_combine(o->random + 1, now);
		fixed &= r->mean == 1 && r->period == 1;
		r->period = off_cpu_draw(r->mean, o->random);
	}
	o->known = o->stepped > 0;
	o->stepped = now;
	if (!fixed)
		set_periods(o);
}
