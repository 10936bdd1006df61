#include "diff/diff_events.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/profile.h"

/* An event by its name with the modifier, and the inputs that have it. */
struct found {
	uint32_t name;		/* in @names */
	size_t inputs, used;	/* used: those with samples of it */
	uint32_t first;		/* index of the first of them */
};

struct events {
	struct intern *names;
	struct found *v;	/* owned; in the order of the first input, then of the next ones */
	size_t n, cap;
	size_t named;		/* inputs whose events have names */
};

static uint32_t count_of(const struct profile *p)
{
	return MAX(p->nevents, 1u);
}

static uint32_t name_of(struct events *es, const struct profile *p, uint32_t at)
{
	struct strbuf sb = STRBUF_INIT;
	uint32_t id;

	profile_event_text(p, at, &sb);
	id = intern_add(es->names, sb.s ? sb.s : "");
	strbuf_fini(&sb);
	return id;
}

static bool is_named(const struct profile *p)
{
	return p->nevents || profile_meta(p, "event");
}

static void note(struct events *es, uint32_t name, size_t input, bool used)
{
	size_t i = 0;

	while (i < es->n && es->v[i].name != name)
		i++;
	if (i == es->n) {
		XGROW(es->v, es->n, es->cap);
		es->v[es->n++] = (struct found){ .name = name, .first = (uint32_t)input };
	}
	es->v[i].inputs++;
	es->v[i].used += used;
}

static void find(struct events *es, struct profile *const *profiles, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_named(profiles[i]))
			continue;
		es->named++;
		for (uint32_t e = 0; e < count_of(profiles[i]); e++)
			note(es, name_of(es, profiles[i], e), i, !profiles[i]->nevents || profiles[i]->events[e].samples);
	}
}

/* The event @name of @p, or its first one. */
static uint32_t index_of(struct events *es, const struct profile *p, const struct found *f)
{
	for (uint32_t e = 0; f && e < count_of(p); e++)
		if (name_of(es, p, e) == f->name)
			return e;
	return 0;
}

/* A message lists so many events, and has the number of the others. */
#define LISTED 12

static void tell_others(const struct events *es, const struct diff_input *in, size_t n)
{
	struct strbuf path = STRBUF_INIT;

	for (size_t i = 0; i < es->n && n <= LISTED; i++) {
		if (es->v[i].inputs == es->named)
			continue;
		strbuf_reset(&path);
		escape_text(&path, in[es->v[i].first].path);
		pr_info("the event '%s' is not compared: %s'%s' has it", intern_str(es->names, es->v[i].name),
			es->v[i].inputs == 1 ? "only " : "not every input, but ", path.s);
	}
	if (n > LISTED)
		pr_info("%zu events are not compared: not every input has them", n);
	strbuf_fini(&path);
}

static void tell(const struct events *es, const struct found *chosen, const struct diff_input *in)
{
	struct strbuf others = STRBUF_INIT;
	size_t n = 0, missing = 0;

	for (size_t i = 0; i < es->n; i++) {
		missing += es->v[i].inputs < es->named;
		if (es->v[i].inputs < es->named || !es->v[i].used || &es->v[i] == chosen || n++ >= LISTED)
			continue;
		strbuf_addf(&others, "%s'%s'", others.len ? ", " : "", intern_str(es->names, es->v[i].name));
	}
	if (n > LISTED)
		strbuf_addf(&others, " and %zu others", n - LISTED);
	tell_others(es, in, missing);
	if (chosen)
		pr_info("this compares the event '%s'%s%s", intern_str(es->names, chosen->name),
			others.len ? "; --event NAME compares another: " : "", others.len ? others.s : "");
	strbuf_fini(&others);
}

/* The first event that all inputs have, with samples if there is such a one. */
static const struct found *choose(const struct events *es)
{
	const struct found *chosen = NULL;

	for (size_t i = 0; i < es->n; i++) {
		const struct found *f = &es->v[i];

		if (f->inputs == es->named && (!chosen || (f->used == es->named && chosen->used < es->named)))
			chosen = f;
	}
	return chosen;
}

void diff_events(struct profile **profiles, const struct diff_input *in, size_t n)
{
	struct events es = { .names = intern_new() };
	const struct found *chosen = NULL;
	bool several = false;

	for (size_t i = 0; i < n; i++)
		several |= profiles[i]->nevents != 0;
	if (several) {
		find(&es, profiles, n);
		chosen = choose(&es);
		tell(&es, chosen, in);
		for (size_t i = 0; i < n; i++)
			profiles[i] = profile_only(profiles[i], index_of(&es, profiles[i], chosen));
	}
	free(es.v);
	intern_free(es.names);
}
