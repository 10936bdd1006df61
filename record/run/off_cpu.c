#include "run/off_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "events/odd_period.h"
#include "events/ringplan.h"
#include "events/wakeup_events.h"
#include "procfs/pidns.h"

#define NS_PER_SEC 1000000000ull
/* Fewer switches than come in so much time say nothing about their rate, ns. */
#define BURST_NS 2000000ull

uint64_t off_cpu_mean(uint64_t outs, uint64_t ns, uint64_t copies)
{
	const double a_second = ns ? (double)outs * (double)NS_PER_SEC / (double)ns : 0;

	return (uint64_t)(a_second / (double)copies) + 1;
}

int off_cpu_check(const struct record_opts *o, struct evlist *el, struct wakeup_source *wakeups)
{
	struct evsel waits;
	int err;

	if (!o->off_cpu)
		return 0;
	evsel_init_waits(&waits, o->off_cpu_every);
	err = evlist_append(el, &waits);
	if (err || !o->wakeups)
		return err;
	if (!pidns_is_first()) {
		pr_err("--wakeups: the kernel numbers woken threads as in the host's pid namespace, and this is another one; share the "
		       "host's (hostPID: true, docker run --pid host), or run on the host");
		return -EXDEV;
	}
	return wakeup_events_find(wakeups);
}

void off_cpu_init(struct off_cpu *o, struct events *ev, const struct sink *sink)
{
	const uint64_t ring = events_split(ev) ? ev->extra_bytes : ev->data_bytes;
	const size_t event = events_waits(ev);

	*o = (struct off_cpu){ .ev = ev, .sink = sink, .event = SIZE_MAX };
	if (event == SIZE_MAX || !events_varies(ev, event))
		return;
	o->event = event;
	o->copies = MAX(MIN(ring / ev->v[event].record_bytes * 1000 / RING_MS, (uint64_t)WAITS_COPIES), 1ull);
	o->cpu = xcalloc(ev->target->ncpus, sizeof(*o->cpu));
	for (uint32_t c = 0; c < ev->target->ncpus; c++)
		o->cpu[c].mean = ev->v[event].period;
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

bool off_cpu_due(uint64_t samples, uint64_t period, uint64_t mean)
{
	if (period == 1 && mean <= 1)
		return false;
	return samples >= OFF_CPU_SAMPLES || period * OFF_CPU_FAR < mean || period > mean * OFF_CPU_FAR;
}

static void draw(struct off_cpu *o, struct event_fd *e, uint64_t mean, uint64_t taken)
{
	uint64_t period;

	o->random = hash_combine(o->random + 1, e->id);
	period = odd_period_draw(mean, o->random);
	if (ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period))
		pr_verbose("off-cpu: the kernel keeps the period of one event");
	e->period = period;
	e->drawn = taken;
}

static void draw_periods(struct off_cpu *o)
{
	const struct events *ev = o->ev;
	size_t changes = 0;

	for (size_t i = 0; i < ev->nsamples && changes < OFF_CPU_CHANGES_MAX; i++) {
		struct event_fd *e = &ev->samples[o->next++ % ev->nsamples];
		uint64_t taken;

		if (e->event != o->event)
			continue;
		taken = sampled_events_waits(o->sink->events, e->id);
		if (!off_cpu_due(taken - e->drawn, e->period, o->cpu[e->cpu].mean))
			continue;
		draw(o, e, o->cpu[e->cpu].mean, taken);
		changes++;
	}
	o->next = ev->nsamples ? o->next % ev->nsamples : 0;
}

void off_cpu_step(struct off_cpu *o, uint64_t now)
{
	const uint64_t past = now - o->stepped;

	if (o->event == SIZE_MAX || (o->stepped && past < OFF_CPU_STEP_NS && (past < BURST_NS || !bursts(o))))
		return;
	for (uint32_t c = 0; c < o->ev->target->ncpus && o->ev->v[o->event].sel.every && o->stepped; c++)
		adapt(o, c, past);
	o->known = o->stepped > 0;
	o->stepped = now;
	draw_periods(o);
}
