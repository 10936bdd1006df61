#include "evlist/evlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "evlist/event_filter.h"
#include "evlist/evlist_priv.h"

/* The length of the event at @s: up to a comma or brace that is not between slashes. */
static size_t event_length(const char *s)
{
	const bool breakpoint = !strncmp(s, "mem:", 4);
	bool in = false;
	size_t n;

	for (n = 0; s[n] && (in || !strchr(",{}", s[n])); n++)
		if (s[n] == '/' && !breakpoint)
			in = !in;
	return n;
}

static struct piece trimmed(const char *s, size_t len)
{
	while (len && (*s == ' ' || *s == '\t' || *s == '\n'))
		s++, len--;
	while (len && (s[len - 1] == ' ' || s[len - 1] == '\t' || s[len - 1] == '\n'))
		len--;
	return (struct piece){ s, len };
}

static int syntax(const char *text, const char *why)
{
	pr_err("event list '%s': %s", text, why);
	return -EINVAL;
}

static void leave_out(struct evlist *el, const char *name, size_t len, const char *why)
{
	XGROW(el->left, el->nleft, el->cap_left);
	el->left[el->nleft++] = (struct event_left_out){ xstrndup(name, len), xstrndup(why, strcspn(why, "\n")) };
}

/* One event, which is left out if it is optional and absent. As event_parse(). */
static int parse_event(struct event_parser *p, struct piece event)
{
	struct strbuf said = STRBUF_INIT, *before;
	int err;

	p->absent = false;
	if (!p->spec->optional)
		return event_parse(p, event);
	before = log_divert(&said);
	err = event_parse(p, event);
	log_divert(before);
	if (err && p->absent) {
		leave_out(p->el, event.s, event.len, said.s);
		p->leader_absent |= p->in_group && p->el->n == p->group_first;
		err = 0;
	} else if (said.len) {
		(err ? pr_err : pr_info)("%.*s", (int)said.len - 1, said.s);
	}
	strbuf_fini(&said);
	return err;
}

/* Events separated by commas, up to @close or the end. Moves *@at there. */
static int parse_events(struct event_parser *p, const char **at, char close)
{
	const char *text = p->spec->text;

	for (;;) {
		const size_t len = event_length(*at);
		const struct piece event = trimmed(*at, len);
		int err;

		if (!event.len && (*at)[len] == '{')
			return syntax(text, "groups cannot be nested");
		if (!event.len)
			return syntax(text, text[0] ? "an event is missing; events are separated by commas"
						    : "it is empty; name an event, e.g. -e cpu-clock");
		err = parse_event(p, event);
		if (err)
			return err;
		*at += len;
		if (**at == close || !close)
			return 0;
		if (!**at)
			return syntax(text, "the brace '{' is not closed");
		if (**at != ',')
			return syntax(text, "a comma is missing before a brace");
		++*at;
	}
}

/* The kind of core that @ev is for; NULL: it is for no single kind. */
static const char *core_of(const struct evlist *el, const struct evsel *ev)
{
	for (size_t k = 0; k < el->pmus.ncores; k++)
		if (ev->pmu == el->pmus.v[k].name)
			return ev->pmu;
	return NULL;
}

/*
 * Makes the events from @first on a group. One PMU cannot count those of another: where there are
 * several kinds of core, there is a group for each. What is no event of a core goes to the first.
 */
static void make_group(struct evlist *el, size_t first)
{
	const size_t n = el->n - first;
	struct evsel *from = xmemdup(&el->v[first], n * sizeof(*from)), *to = &el->v[first];
	const char *home = NULL, *core;
	bool *done = xcalloc(n, sizeof(*done));
	size_t out = 0;

	for (size_t i = 0; i < n && !home; i++)
		home = core_of(el, &from[i]);
	for (size_t i = 0; i < n; i++) {
		const uint32_t leader = (uint32_t)(first + out);
		const char *mine = core_of(el, &from[i]);

		for (size_t k = i; k < n && !done[i]; k++) {
			core = core_of(el, &from[k]);
			if ((core ? core : home) != (mine ? mine : home))
				continue;
			to[out] = from[k];
			to[out++].leader = leader;
			done[k] = k > i;
		}
	}
	free(done);
	free(from);
}

/* A group goes with its leader. */
static void leave_out_group(struct evlist *el, size_t first)
{
	for (size_t i = first; i < el->n; i++) {
		const char *name = el->v[i].name;
		char *why = xasprintf("event '%s': the leader of its group is left out", name);

		leave_out(el, name, strlen(name), why);
		free(why);
	}
	el->n = first;
}

static int parse_group(struct event_parser *p, const char **at)
{
	const char *open = *at, *text = p->spec->text;
	const uint32_t first = (uint32_t)p->el->n;
	struct event_modifiers m = { .precise = 0 };
	struct piece mods;
	size_t len;
	int err;

	++*at;
	p->in_group = true;
	p->leader_absent = false;
	p->group_first = first;
	err = parse_events(p, at, '}');
	p->in_group = false;
	if (err)
		return err;
	++*at;
	len = strcspn(*at, ",{}");
	mods = trimmed(*at, len);
	if (mods.len && *mods.s != ':')
		return syntax(text, "after a group comes a comma, or ':' and modifiers");
	if (mods.len)
		mods.s++, mods.len--;
	*at += len;
	err = event_modifiers_parse(&m, mods, (struct piece){ open, (size_t)(*at - open) }, true);
	if (err)
		return err;
	if (p->leader_absent)
		leave_out_group(p->el, first);
	if (p->el->n == first)
		return 0;
	make_group(p->el, first);
	for (size_t i = first; i < p->el->n; i++)
		event_modifiers_apply(&m, &p->el->v[i], p->el->v[i].leader == i);
	return 0;
}

static int parse_spec(struct event_parser *p)
{
	const char *at = p->spec->text;
	int err;

	for (;;) {
		at += strspn(at, " \t\n");
		err = *at == '{' ? parse_group(p, &at) : parse_events(p, &at, 0);
		if (err || !*at)
			return err;
		if (*at != ',')
			return syntax(p->spec->text, *at == '{' ? "before a group comes a comma"
								: "there is a brace '}' without '{'");
		at++;
	}
}

/* Appends "#2" to the name of the second event of the same name and modifiers, and so on. */
static void name_apart(struct evlist *el)
{
	for (size_t i = 0; i < el->n; i++) {
		const char *name = el->v[i].name;
		unsigned int times = 1;

		for (size_t k = 0; k < i; k++)
			times += !strcmp(el->v[k].base, name) && !strcmp(evsel_modifier(&el->v[k]), evsel_modifier(&el->v[i]));
		el->v[i].base = name;
		if (times > 1)
			el->v[i].name = evlist_keep(el, xasprintf("%s#%u", name, times));
	}
}

/* The filters of tracepoints from the @first event on, all of one -e. */
static int check_filters(struct event_parser *p, size_t first)
{
	size_t checked = 0;
	int err = 0;

	if (!p->spec->filter)
		return 0;
	for (size_t i = first; i < p->el->n && !err; i++) {
		if (!p->el->v[i].tracepoint)
			continue;
		err = event_filter_check_event(&p->el->v[i]);
		checked++;
	}
	if (err || checked || p->el->n == first)
		return err;
	pr_err("--filter '%s': '-e %s' before it names no tracepoint, and only tracepoints have fields to filter by", p->spec->filter,
	       p->spec->text);
	return -EINVAL;
}

static bool has_clock(const struct evlist *el)
{
	for (size_t i = 0; i < el->n; i++)
		if (evsel_is_clock(&el->v[i]))
			return true;
	return false;
}

int evlist_parse(struct evlist *el, const struct event_spec *specs, size_t nspecs, uint64_t freq,
		 const struct evlist_places *places)
{
	struct event_parser p = {
		.el = el,
		.freq = freq,
		.pmus_dir = places && places->pmus ? places->pmus : PMUS_PATH,
		.tracefs_dir = places ? places->tracefs : NULL,
	};
	int err = 0;

	memset(el, 0, sizeof(*el));
	for (size_t i = 0; i < nspecs && !err; i++) {
		const size_t first = el->n;

		if (specs[i].clock && has_clock(el))
			continue;
		p.spec = &specs[i];
		p.spec_index = (uint32_t)i;
		err = parse_spec(&p);
		if (!err)
			err = check_filters(&p, first);
	}
	name_apart(el);
	if (p.tracefs_tried)
		tracefs_close(&p.tracefs);
	return err;
}

int evlist_check_any(const struct evlist *el)
{
	if (el->n)
		return 0;
	for (size_t i = 0; i < el->nleft; i++)
		pr_err("%s", el->left[i].why);
	if (!el->nleft)
		pr_err("no event takes samples: dummy counts nothing");
	return -EINVAL;
}

void evlist_narrow(struct evlist *el, bool user, bool kernel)
{
	if (!user && !kernel)
		return;
	for (size_t i = 0; i < el->n; i++) {
		if (el->v[i].waits)
			continue;
		el->v[i].exclude_kernel = user;
		el->v[i].exclude_user = kernel;
		el->v[i].name = el->v[i].base;
	}
	name_apart(el);
}

void evlist_fini(struct evlist *el)
{
	for (size_t i = 0; i < el->ntexts; i++)
		free(el->texts[i]);
	for (size_t i = 0; i < el->nleft; i++) {
		free(el->left[i].name);
		free(el->left[i].why);
	}
	free(el->left);
	free(el->texts);
	free(el->v);
	pmus_fini(&el->pmus);
	memset(el, 0, sizeof(*el));
}
