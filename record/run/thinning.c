#include "run/thinning.h"

#include <string.h>

#include "base/log.h"
#include "run/recording_events.h"

void thinning_init(struct thinning *t, struct events *ev, struct sink *sink)
{
	*t = (struct thinning){ .ev = ev, .sink = sink, .in_kernel = events_can_set_period(ev) };
}

static void note(const struct thinning *t, uint32_t event, uint64_t period)
{
	struct ev_event e;

	recording_events_describe(t->ev, event, t->now, &e);
	e.period = period;
	sink_written(t->sink, rec_writer_event(t->sink->w, &e));
	pr_verbose("'%s': one sample stands for %llu events from now on", e.name, (unsigned long long)period);
}

static void apply(void *ctx, uint32_t event, uint32_t level)
{
	struct thinning *t = ctx;
	struct sampled_events *se = t->sink->events;
	const struct rec_event *e = &t->ev->v[event];
	const uint64_t period = e->period << level, was = e->now;
	const bool in_kernel = t->in_kernel && !e->weighed;
	int err = 0;

	if (in_kernel) {
		err = events_set_period(t->ev, event, period);
		if (!err) {
			sampled_events_period(se, event, period);
		} else {
			pr_verbose("'%s': the kernel does not change its period: %s", e->sel.name, strerror(-err));
			events_set_period(t->ev, event, was);
			t->in_kernel = false;
		}
	}
	if (!t->in_kernel || e->weighed)
		sampled_events_shift(se, event, level);
	note(t, event, period);
}

void thinning_step(struct thinning *t, uint64_t now)
{
	struct sampled_events *se = t->sink->events;

	if (!se)
		return;
	t->now = now;
	event_budget_step(&se->budget, now, t->sink->pressure.level >= PRESSURE_CUT, apply, t);
}
