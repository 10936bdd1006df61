/* Tracepoints: GROUP:NAME, with patterns in both. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/xalloc.h"
#include "evlist/evlist_priv.h"
#include "evlist/name_list.h"

#define PATTERN "*?["

static const struct tracefs *open_tracefs(struct event_parser *p)
{
	if (!p->tracefs_tried) {
		p->tracefs_err = tracefs_open(&p->tracefs, p->tracefs_dir, p->tracefs_why, sizeof(p->tracefs_why));
		p->tracefs_tried = true;
	}
	return p->tracefs_err ? NULL : &p->tracefs;
}

static char *full_name(const char *group, const char *name)
{
	return xasprintf("%s:%s", group, name);
}

/* Names all of a group by "GROUP:NAME", as they are typed. */
static void with_group(const char *group, char **names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *full = full_name(group, names[i]);

		free(names[i]);
		names[i] = full;
	}
}

static int unknown(struct event_parser *p, const struct tracefs *t, const char *group, const char *name)
{
	char *full = full_name(group, name), **names, meant[600];
	size_t n = tracefs_names(t, group, &names);
	const bool known = n > 0;
	struct suggest s;

	p->absent = true;
	if (known)
		with_group(group, names, n);
	else
		n = tracefs_names(t, NULL, &names);
	suggest_init(&s, known ? full : group, strlen(known ? full : group));
	for (size_t i = 0; i < n; i++)
		suggest_offer(&s, names[i]);
	suggest_text(&s, "", meant, sizeof(meant));
	if (known)
		pr_err("unknown tracepoint '%s'.%s 'nsprof list '%s:*'' shows those of its group.", full, meant, group);
	else
		pr_err("unknown tracepoint '%s': there is no group '%s'.%s 'nsprof list' shows all tracepoints.", full, group, meant);
	name_list_free(names, n);
	free(full);
	return -EINVAL;
}

/* Makes the event of one tracepoint. 0, or negative errno without a message. */
static int make(struct event_parser *p, const struct tracefs *t, const char *group, const char *name, struct evsel *ev)
{
	struct strbuf format = STRBUF_INIT;
	uint64_t id;
	int err = tracefs_id(t, group, name, &id);

	if (!err)
		err = tracefs_format(t, group, name, &format);
	if (err || !format.s) {
		strbuf_fini(&format);
		return err ? err : -EINVAL;
	}
	evsel_init(ev, evlist_keep(p->el, full_name(group, name)), PERF_TYPE_TRACEPOINT, id);
	ev->tracepoint = true;
	ev->format = evlist_keep(p->el, format.s);
	return 0;
}

static int add_matching(struct event_parser *p, const struct tracefs *t, const char *group, const char *pattern,
			const struct event_rest *rest)
{
	struct evsel ev;
	char **names;
	size_t n = tracefs_names(t, group, &names);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		/* Some are there for ftrace itself, without an id. */
		if (fnmatch(pattern, names[i], 0) || make(p, t, group, names[i], &ev))
			continue;
		err = event_finish(p, &ev, rest);
	}
	name_list_free(names, n);
	return err;
}

static int add_all(struct event_parser *p, const struct tracefs *t, const char *group, const char *name,
		   const struct event_rest *rest)
{
	const size_t before = p->el->n;
	char **groups;
	size_t n = tracefs_names(t, NULL, &groups);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		if (!fnmatch(group, groups[i], 0))
			err = add_matching(p, t, groups[i], name, rest);
	name_list_free(groups, n);
	if (err || p->el->n > before)
		return err;
	p->absent = true;
	pr_err("no tracepoint matches '%s:%s'; 'nsprof list' shows all", group, name);
	return -EINVAL;
}

int event_tracepoint(struct event_parser *p, struct piece group_text, struct piece name_text, const struct event_rest *rest)
{
	const struct tracefs *t = open_tracefs(p);
	char *group, *name;
	struct evsel ev;
	int err;

	if (!t) {
		p->absent = true;
		pr_err("event '%.*s' is a tracepoint, and %s", (int)rest->whole.len, rest->whole.s, p->tracefs_why);
		return p->tracefs_err;
	}
	group = xstrndup(group_text.s, group_text.len);
	name = xstrndup(name_text.s, name_text.len);
	if (strpbrk(group, PATTERN) || strpbrk(name, PATTERN)) {
		err = add_all(p, t, group, name, rest);
	} else {
		err = make(p, t, group, name, &ev);
		if (err == -ENOENT || err == -EINVAL)
			err = unknown(p, t, group, name);
		else if (err)
			pr_err("cannot read tracepoint '%s:%s' in tracefs: %s", group, name, strerror(-err));
		else
			err = event_finish(p, &ev, rest);
	}
	free(group);
	free(name);
	return err;
}

bool event_tracepoint_group(struct event_parser *p, struct piece group_text)
{
	const struct tracefs *t = open_tracefs(p);
	char **names = NULL, *group = xstrndup(group_text.s, group_text.len);
	size_t n = t ? tracefs_names(t, group, &names) : 0;

	name_list_free(names, n);
	free(group);
	return n;
}

bool event_tracepoint_named(struct event_parser *p, struct piece name_text, struct strbuf *out)
{
	const struct tracefs *t = open_tracefs(p);
	char **groups = NULL, *name;
	size_t n = t ? tracefs_names(t, NULL, &groups) : 0;
	bool found = false;
	uint64_t id;

	name = xstrndup(name_text.s, name_text.len);
	for (size_t i = 0; i < n && !found; i++) {
		found = !tracefs_id(t, groups[i], name, &id);
		if (found)
			strbuf_addf(out, "%s:%s", groups[i], name);
	}
	name_list_free(groups, n);
	free(name);
	return found;
}
