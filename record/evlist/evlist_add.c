/* What goes into the list: events, and what they point to. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "event.h"
#include "evlist/evlist_priv.h"

const struct pmus *event_parser_pmus(struct event_parser *p)
{
	if (!p->pmus_loaded)
		pmus_load(&p->el->pmus, p->pmus_dir);
	p->pmus_loaded = true;
	return &p->el->pmus;
}

const char *evlist_keep(struct evlist *el, char *text)
{
	XGROW(el->texts, el->ntexts, el->cap_texts);
	el->texts[el->ntexts++] = text;
	return text;
}

static void take_rate(const struct event_parser *p, struct evsel *ev)
{
	if (!ev->freq && !ev->period) {
		ev->freq = p->spec->rate.freq;
		ev->period = p->spec->rate.period;
	}
	if (ev->freq || ev->period)
		return;
	ev->every = ev->type == PERF_TYPE_TRACEPOINT || ev->type == PERF_TYPE_BREAKPOINT;
	if (ev->every)
		ev->period = 1;
	else
		ev->freq = p->freq;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_stacks(const struct stack_terms *a, const struct stack_terms *b)
{
	return a->callgraph == b->callgraph && a->dump_size == b->dump_size && a->max_stack == b->max_stack;
}

/* Is the @i-th event the same as @b, and in no group? */
static bool same(const struct evlist *el, size_t i, const struct evsel *b)
{
	const struct evsel *a = &el->v[i];

	if (a->leader != i || (i + 1 < el->n && el->v[i + 1].leader == i))
		return false;
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 && a->config2 == b->config2 &&
	       a->bp_type == b->bp_type && a->precise == b->precise && a->exclude_user == b->exclude_user &&
	       a->exclude_kernel == b->exclude_kernel && a->exclude_idle == b->exclude_idle && a->pinned == b->pinned &&
	       a->exclusive == b->exclusive && a->freq == b->freq && a->period == b->period && a->pmu == b->pmu &&
	       same_text(a->name, b->name) && same_text(a->filter, b->filter) && same_stacks(&a->stacks, &b->stacks);
}

int evlist_append(struct evlist *el, const struct evsel *ev)
{
	if (el->n == SAMPLED_EVENTS_MAX) {
		pr_err("the -e options name too many events: a recording has at most %u", SAMPLED_EVENTS_MAX);
		return -EINVAL;
	}
	XGROW(el->v, el->n, el->cap);
	el->v[el->n] = *ev;
	el->v[el->n].leader = (uint32_t)el->n;
	el->n++;
	return 0;
}

int evlist_add(struct event_parser *p, const struct evsel *ev)
{
	struct evlist *el = p->el;
	struct evsel new = *ev;

	new.spec = p->spec_index;
	new.leader = (uint32_t)el->n;
	new.filter = new.tracepoint ? p->spec->filter : NULL;
	take_rate(p, &new);
	for (size_t i = 0; i < el->n && !p->in_group; i++) {
		if (!same(el, i, &new))
			continue;
		pr_info("event '%s' is given twice; it is recorded once", new.name);
		return 0;
	}
	return evlist_append(el, &new);
}
