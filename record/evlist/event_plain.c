/* Events that need no description by the kernel, and what follows their names. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cli/event_name.h"
#include "evlist/evlist_priv.h"

#define HYBRID_SHIFT 32	/* PERF_PMU_TYPE_SHIFT: the kind of core that a hardware event is for */

static const char *keep(struct event_parser *p, struct piece text)
{
	return evlist_keep(p->el, xstrndup(text.s, text.len));
}

bool event_plain(struct event_parser *p, struct piece name, struct evsel *ev)
{
	const struct event_name *n = event_name_find(name.s, name.len);
	const char *colon = memchr(name.s, ':', name.len);
	uint64_t type, config;

	if (n) {
		evsel_init(ev, n->name, n->type, n->config);
		return true;
	}
	if (event_cache(name, &config)) {
		evsel_init(ev, keep(p, name), PERF_TYPE_HW_CACHE, config);
		return true;
	}
	if (name.len > 1 && name.s[0] == 'r' && !event_hex((struct piece){ name.s + 1, name.len - 1 }, &config)) {
		evsel_init(ev, keep(p, name), PERF_TYPE_RAW, config);
		return true;
	}
	if (!colon || event_number((struct piece){ name.s, (size_t)(colon - name.s) }, &type) || type > UINT32_MAX ||
	    event_number((struct piece){ colon + 1, name.len - (size_t)(colon - name.s) - 1 }, &config))
		return false;
	evsel_init(ev, keep(p, name), (uint32_t)type, config);
	return true;
}

static int no_term(const struct event_term *t, struct piece whole)
{
	pr_err("unknown term '%.*s' in event '%.*s'; it takes period=, freq=, name=, call-graph=, stack-size= and max-stack=", (int)t->name.len, t->name.s,
	       (int)whole.len, whole.s);
	return -EINVAL;
}

/* What is the same on all cores is one event for each kind of them. */
static int add_for_cores(struct event_parser *p, const struct evsel *plain)
{
	const bool core = plain->type == PERF_TYPE_HARDWARE || plain->type == PERF_TYPE_HW_CACHE || plain->type == PERF_TYPE_RAW;
	const struct pmus *all = core && !(plain->config >> HYBRID_SHIFT) ? event_parser_pmus(p) : NULL;
	int err = 0;

	if (!all || all->ncores < 2)
		return evlist_add(p, plain);
	for (size_t i = 0; i < all->ncores && !err; i++) {
		const struct pmu *pmu = &all->v[i];
		struct evsel ev = *plain;

		ev.name = evlist_keep(p->el, xasprintf("%s/%s/", pmu->name, plain->name));
		ev.pmu = pmu->name;
		ev.cpus = pmu->cpus;
		ev.ncpus = pmu->ncpus;
		if (ev.type == PERF_TYPE_RAW)
			ev.type = pmu->type;
		else
			ev.config |= (uint64_t)pmu->type << HYBRID_SHIFT;
		err = evlist_add(p, &ev);
	}
	return err;
}

int event_finish(struct event_parser *p, const struct evsel *plain, const struct event_rest *rest)
{
	struct event_modifiers m = { .precise = 0 };
	struct piece terms = rest->terms;
	struct evsel ev = *plain;
	struct event_term t;
	int err;

	while ((err = event_term_next(&terms, &t, rest->whole)) > 0) {
		err = event_term_common(p, &ev, &t, rest->whole);
		if (!err)
			return no_term(&t, rest->whole);
		if (err < 0)
			return err;
	}
	if (!err)
		err = event_modifiers_parse(&m, rest->mods, rest->whole, false);
	if (err)
		return err;
	event_modifiers_apply(&m, &ev, true);
	/*
	 * Precision is a property of some events of some PMUs, which are named by their PMU. For
	 * others it would only move the address away from where registers and stack belong.
	 */
	ev.precise = 0;
	return add_for_cores(p, &ev);
}
