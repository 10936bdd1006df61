#include "run/event_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "run/record_values.h"

static struct event_spec *add_spec(struct record_cmdline *c, const char *text)
{
	struct record_opts *o = &c->o;

	XGROW(o->specs, o->nspecs, o->cap_specs);
	o->specs[o->nspecs] = (struct event_spec){ .text = text, .rate = c->rate };
	c->rate_pending = false;
	return &o->specs[o->nspecs++];
}

int event_options_event(void *dst, const char *arg)
{
	add_spec(dst, arg);
	return 0;
}

static bool given(const struct event_rate *r)
{
	return r->freq || r->period;
}

static bool clash(const struct event_rate *a, const struct event_rate *b)
{
	return given(a) && given(b) && !a->freq != !b->freq;
}

static void take_rate(struct record_cmdline *c, struct event_rate r)
{
	c->rates_clash |= c->rate_pending && clash(&c->rate, &r);
	c->rate = r;
	c->rate_pending = true;
}

int event_options_freq(void *dst, const char *arg)
{
	struct event_rate r = { .freq = EVSEL_FREQ_MAX };

	if (strcmp(arg, "max") && record_number(arg, 1, UINT32_MAX, &r.freq)) {
		pr_err("invalid frequency '%s'; -F takes a number of samples per second, or 'max'", arg);
		return -EINVAL;
	}
	take_rate(dst, r);
	return 0;
}

int event_options_period(void *dst, const char *arg)
{
	struct event_rate r = { .period = 0 };

	if (record_number(arg, 1, INT64_MAX, &r.period)) {
		pr_err("invalid period '%s'; -c takes a number of events, at least 1", arg);
		return -EINVAL;
	}
	take_rate(dst, r);
	return 0;
}

int event_options_filter(void *dst, const char *arg)
{
	struct record_cmdline *c = dst;
	struct event_spec *spec = c->o.nspecs ? &c->o.specs[c->o.nspecs - 1] : NULL;
	char *all;

	if (!spec) {
		pr_err("--filter '%s': no event is given before it; write -e GROUP:NAME --filter '...'", arg);
		return -EINVAL;
	}
	/* As perf_evsel__append_filter() does. */
	all = spec->filter ? xasprintf("(%s) && (%s)", spec->filter, arg) : xstrdup(arg);
	free(spec->filter);
	spec->filter = all;
	return 0;
}

int event_options_fields(void *dst, const char *arg)
{
	struct record_cmdline *c = dst;

	if (!arg || !strcmp(arg, "numbers"))
		c->o.payloads = PAYLOADS_NUMBERS;
	else if (!strcmp(arg, "all"))
		c->o.payloads = PAYLOADS_ALL;
	else if (!strcmp(arg, "none"))
		c->o.payloads = PAYLOADS_NONE;
	else {
		pr_err("invalid value '%s' for --fields; it takes numbers, all or none", arg);
		return -EINVAL;
	}
	return 0;
}

int event_options_off_cpu(void *dst, const char *arg)
{
	struct record_cmdline *c = dst;

	c->o.off_cpu = true;
	if (!arg || !record_number(arg, 1, OFF_CPU_EVERY_MAX, &c->o.off_cpu_every))
		return 0;
	pr_err("invalid value '%s' for --off-cpu; it takes a number of switches, 1 to %u: one stack per about so many", arg, OFF_CPU_EVERY_MAX);
	return -EINVAL;
}

/* A clock beside --off-cpu, if no -e names one. A rate behind an -e that does is for that. */
static void add_clock(struct record_cmdline *c)
{
	const bool pending = c->rate_pending;
	bool named = false;

	for (size_t i = 0; i < c->o.nspecs; i++)
		named |= strstr(c->o.specs[i].text, "cpu-clock") || strstr(c->o.specs[i].text, "task-clock");
	add_spec(c, "cpu-clock")->clock = true;
	c->rate_pending = pending && named;
}

static int finish_off_cpu(struct record_cmdline *c)
{
	struct record_opts *o = &c->o;

	if (o->off_cpu_thresh_ns && !o->off_cpu && !o->wall) {
		pr_err("--off-cpu-thresh needs --off-cpu or --wall");
		return -EINVAL;
	}
	if (o->wakeups && !o->off_cpu && !o->wall) {
		pr_err("--wakeups needs --off-cpu or --wall");
		return -EINVAL;
	}
	if (o->wall)
		add_clock(c);
	o->off_cpu |= o->wall;
	return 0;
}

int event_options_finish(struct record_cmdline *c)
{
	struct record_opts *o = &c->o;
	struct event_rate first = c->rate;
	int err = finish_off_cpu(c);

	if (err)
		return err;
	if (!o->nspecs && !o->off_cpu)
		add_spec(c, "cycles");
	for (size_t i = o->nspecs; i-- > 0;) {
		struct event_spec *s = &o->specs[i];

		s->optional = o->optional_events;
		c->rates_clash |= c->rate_pending && clash(&s->rate, &c->rate);
		if (c->rate_pending)
			s->rate = c->rate;
		if (given(&s->rate))
			first = s->rate;
	}
	for (size_t i = 0; i < o->nspecs && !given(&o->specs[i].rate); i++)
		o->specs[i].rate = first;
	o->period = c->rate.period;
	if (!c->rates_clash)
		return 0;
	pr_err("-F and -c exclude each other: sample by frequency or by count");
	return -EINVAL;
}

void event_options_fini(struct record_cmdline *c)
{
	for (size_t i = 0; i < c->o.nspecs; i++)
		free(c->o.specs[i].filter);
	free(c->o.specs);
}
