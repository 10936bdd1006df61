/* The terms of an event: "event=0x3c,umask=1,period=100000". */
#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "evlist/evlist_priv.h"

#define NAME_MAX_LEN 255

int event_term_next(struct piece *rest, struct event_term *t, struct piece whole)
{
	const char *end = rest->s + rest->len, *p = rest->s, *eq = NULL;
	char quote = 0;

	if (!rest->len)
		return 0;
	for (; p < end && (quote || *p != ','); p++) {
		if (*p == '\'')
			quote = quote ? 0 : '\'';
		else if (*p == '=' && !eq && !quote)
			eq = p;
	}
	if (quote) {
		pr_err("event '%.*s': the quote is not closed", (int)whole.len, whole.s);
		return -EINVAL;
	}
	t->name = (struct piece){ rest->s, (size_t)((eq ? eq : p) - rest->s) };
	t->value = eq ? (struct piece){ eq + 1, (size_t)(p - eq - 1) } : (struct piece){ NULL, 0 };
	if (t->value.len >= 2 && t->value.s[0] == '\'' && t->value.s[t->value.len - 1] == '\'')
		t->value = (struct piece){ t->value.s + 1, t->value.len - 2 };
	if (!t->name.len || (eq && !t->value.len)) {
		pr_err("event '%.*s': a term is empty; terms are NAME or NAME=VALUE, separated by commas", (int)whole.len,
		       whole.s);
		return -EINVAL;
	}
	t->text = (struct piece){ rest->s, (size_t)(p - rest->s) };
	p += p < end;
	*rest = (struct piece){ p, (size_t)(end - p) };
	return 1;
}

/* Why nsprof does not take a term that perf has for any event; NULL: it is none of these. */
static const char *why_not(struct piece name)
{
	static const struct {
		const char *name, *why;
	} terms[] = {
		{ "branch_type", "branch records are not taken" },
		{ "no-inherit", "threads and children are recorded for all events, or with -i for none" },
		{ "overwrite", "--overwrite is for all events" },
		{ "nr", "it is for perf trace" },
		{ "percore", "it is for perf stat" },
		{ "metric-id", "it is for perf stat" },
		{ "aux-output", "traces of the CPU's own (Intel PT and the like) are not recorded" },
		{ "aux-action", "traces of the CPU's own (Intel PT and the like) are not recorded" },
		{ "aux-sample-size", "traces of the CPU's own (Intel PT and the like) are not recorded" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(terms); i++)
		if (piece_is(name, terms[i].name))
			return terms[i].why;
	return NULL;
}

bool event_term_is_common(struct piece name)
{
	static const char *const taken[] = {
		"period", "freq", "name", "call-graph", "stack-size", "max-stack", "inherit", "no-overwrite", "time",
	};

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (piece_is(name, taken[i]))
			return true;
	return why_not(name);
}

static int rate(struct evsel *ev, const struct event_term *t, struct piece whole)
{
	const bool freq = piece_is(t->name, "freq");
	uint64_t v;

	if (ev->freq || ev->period) {
		pr_err("event '%.*s' has two rates: give one freq= or one period=", (int)whole.len, whole.s);
		return -EINVAL;
	}
	if (!t->value.s || event_number(t->value, &v) || !v || v > (freq ? UINT32_MAX : INT64_MAX)) {
		pr_err("invalid %.*s in event '%.*s': %s", (int)t->name.len, t->name.s, (int)whole.len, whole.s,
		       freq ? "freq= takes a number of samples per second" : "period= takes a number of events, at least 1");
		return -EINVAL;
	}
	*(freq ? &ev->freq : &ev->period) = v;
	return 1;
}

static int call_graph(struct evsel *ev, const struct event_term *t, struct piece whole)
{
	const int len = (int)t->value.len;
	const char *why;
	int err = t->value.s ? callgraph_parse(t->value.s, t->value.len, &ev->stacks, &why) : -EINVAL;

	if (!err)
		return 1;
	if (err == -ENOTSUP)
		pr_err("event '%.*s': perf has call-graph=%.*s, nsprof does not: %s. It takes dwarf, fp or no.", (int)whole.len, whole.s, len,
		       t->value.s, why);
	else if (err == -ERANGE)
		pr_err("invalid call-graph in event '%.*s': a stack copy has 8 to %d bytes", (int)whole.len, whole.s, DUMP_SIZE_MAX);
	else
		pr_err("invalid call-graph in event '%.*s': call-graph= takes dwarf, fp or no", (int)whole.len, whole.s);
	return -EINVAL;
}

/* stack-size= and max-stack=. What the kernel allows is known later: see events_check_stacks(). */
static int stack_limit(struct evsel *ev, const struct event_term *t, struct piece whole)
{
	uint64_t v;

	if (piece_is(t->name, "stack-size")) {
		if (t->value.s && !callgraph_size(t->value.s, t->value.len, &ev->stacks.dump_size))
			return 1;
		pr_err("invalid stack-size in event '%.*s': stack-size= takes 8 to %d bytes", (int)whole.len, whole.s, DUMP_SIZE_MAX);
		return -EINVAL;
	}
	if (!t->value.s || event_number(t->value, &v) || !v || v > UINT16_MAX) {
		pr_err("invalid max-stack in event '%.*s': max-stack= takes a number of frames, at least 1 and at most "
		       "kernel.perf_event_max_stack", (int)whole.len, whole.s);
		return -EINVAL;
	}
	ev->stacks.max_stack = (uint32_t)v;
	return 1;
}

int event_term_common(struct event_parser *p, struct evsel *ev, const struct event_term *t, struct piece whole)
{
	if (piece_is(t->name, "period") || piece_is(t->name, "freq"))
		return rate(ev, t, whole);
	if (piece_is(t->name, "call-graph"))
		return call_graph(ev, t, whole);
	if (piece_is(t->name, "stack-size") || piece_is(t->name, "max-stack"))
		return stack_limit(ev, t, whole);
	if (piece_is(t->name, "name")) {
		if (!t->value.s || t->value.len > NAME_MAX_LEN || !escape_is_text(t->value.s, t->value.len)) {
			pr_err("invalid name in event '%.*s': name= takes 1 to %d bytes of text", (int)whole.len, whole.s,
			       NAME_MAX_LEN);
			return -EINVAL;
		}
		if (piece_is(t->value, "off-cpu") || piece_is(t->value, "wall") || piece_is(t->value, "offcpu-time")) {
			pr_err("event '%.*s': the name '%.*s' is that of an event of --off-cpu or --wall; choose another one", (int)whole.len,
			       whole.s, (int)t->value.len, t->value.s);
			return -EINVAL;
		}
		ev->name = evlist_keep(p->el, xstrndup(t->value.s, t->value.len));
		return 1;
	}
	/* What we do anyway. */
	if (piece_is(t->name, "inherit") || piece_is(t->name, "no-overwrite") ||
	    (piece_is(t->name, "time") && (!t->value.s || piece_is(t->value, "1"))))
		return 1;
	if (!why_not(t->name))
		return 0;
	pr_err("term '%.*s' in event '%.*s' is not supported: %s", (int)t->name.len, t->name.s, (int)whole.len, whole.s,
	       why_not(t->name));
	return -EINVAL;
}
