/* One event of a list: which kind it is, and what follows its name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/event_name.h"
#include "evlist/evlist_priv.h"
#include "evlist/name_list.h"

/* Why nsprof takes no samples of an event that perf has. NULL: perf has none of this name, either. */
static const char *why_not(struct piece name)
{
	static const struct {
		const char *name, *why;
	} events[] = {
		{ "bpf-output", "data that BPF programs write is not recorded" },
		{ "duration_time", "it is for perf stat" },
		{ "user_time", "it is for perf stat" },
		{ "system_time", "it is for perf stat" },
		{ "intel_pt", "traces of the CPU's own are not recorded" },
		{ "intel_bts", "traces of the CPU's own are not recorded" },
		{ "cs_etm", "traces of the CPU's own are not recorded" },
		{ "arm_spe_0", "traces of the CPU's own are not recorded" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (piece_is(name, events[i].name))
			return events[i].why;
	return NULL;
}

static int unknown(struct event_parser *p, struct piece name)
{
	const struct pmus *all = event_parser_pmus(p);
	struct strbuf tracepoint = STRBUF_INIT;
	char meant[300], ***names = xcalloc(all->n + 1, sizeof(*names));
	size_t *n = xcalloc(all->n + 1, sizeof(*n));
	struct suggest s;

	p->absent = true;
	suggest_init(&s, name.s, name.len);
	event_name_suggest(&s);
	for (size_t i = 0; i < all->n; i++) {
		n[i] = pmu_names(all, &all->v[i], "events", &names[i]);
		for (size_t k = 0; k < n[i]; k++)
			suggest_offer(&s, names[i][k]);
	}
	suggest_text(&s, "", meant, sizeof(meant));
	/* The group of a tracepoint is easily forgotten. */
	if (!meant[0] && event_tracepoint_named(p, name, &tracepoint))
		snprintf(meant, sizeof(meant), " Did you mean '%s'?", tracepoint.s);
	/* "inst_retired.any": perf has such names in tables by the model of the CPU. */
	if (!meant[0] && memchr(name.s, '.', name.len))
		snprintf(meant, sizeof(meant), " nsprof has no tables of CPU models: give the event by its code, as 'perf list --details' shows "
			 "it: cpu/event=0x..,umask=0x../.");
	pr_err("unknown event '%.*s'.%s 'nsprof list' shows the events of this machine.", (int)name.len, name.s, meant);
	for (size_t i = 0; i < all->n; i++)
		name_list_free(names[i], n[i]);
	strbuf_fini(&tracepoint);
	free(names);
	free(n);
	return -EINVAL;
}

static int unknown_pmu(struct event_parser *p, struct piece head, struct piece whole)
{
	const struct pmus *all = event_parser_pmus(p);
	struct strbuf list = STRBUF_INIT;
	char meant[300];
	struct suggest s;

	p->absent = true;
	suggest_init(&s, head.s, head.len);
	for (size_t i = 0; i < all->n; i++) {
		suggest_offer(&s, all->v[i].name);
		strbuf_addf(&list, "%s%s", i ? ", " : "", all->v[i].name);
	}
	suggest_text(&s, "", meant, sizeof(meant));
	if (!all->n)
		pr_err("event '%.*s': there is no PMU '%.*s': %s cannot be read: %s", (int)whole.len, whole.s, (int)head.len,
		       head.s, p->pmus_dir, strerror(all->dir < 0 ? -all->dir : ENOENT));
	else
		pr_err("event '%.*s': there is no PMU '%.*s'.%s This machine has %s.%s", (int)whole.len, whole.s, (int)head.len,
		       head.s, meant, list.s, all->ncores ? "" : " Virtual machines often have no hardware counters.");
	strbuf_fini(&list);
	return -EINVAL;
}

/* Splits NAME/TERMS/MODS, or NAME:MODS. 0 or -EINVAL after a message. */
static int split(struct piece text, struct piece *name, struct event_rest *rest)
{
	const char *end = text.s + text.len, *slash = memchr(text.s, '/', text.len), *close;

	*name = text;
	*rest = (struct event_rest){ { end, 0 }, { end, 0 }, text };
	if (!slash)
		return 0;
	close = memchr(slash + 1, '/', (size_t)(end - slash - 1));
	if (!close) {
		pr_err("event '%.*s': the second slash is missing; terms are given as NAME/TERM,.../", (int)text.len, text.s);
		return -EINVAL;
	}
	name->len = (size_t)(slash - text.s);
	rest->terms = (struct piece){ slash + 1, (size_t)(close - slash - 1) };
	close += close + 1 < end && close[1] == ':' ? 2 : 1;
	rest->mods = (struct piece){ close, (size_t)(end - close) };
	return 0;
}

/* @name has a colon: NAME:MODS, GROUP:NAME or GROUP:NAME:MODS. */
static int parse_with_colon(struct event_parser *p, struct piece name, struct event_rest *rest)
{
	const char *colon = memrchr(name.s, ':', name.len);
	struct piece group = { name.s, (size_t)(colon - name.s) }, tail = { colon + 1, name.len - group.len - 1 };
	const bool terms = rest->mods.len || rest->terms.len;
	struct evsel ev;
	bool plain, named;

	plain = event_plain(p, group, &ev);
	named = !plain && event_modifiers_like(tail) && event_pmu_named(p, group);
	if ((plain || named) && terms) {
		pr_err("event '%.*s': terms belong before modifiers", (int)rest->whole.len, rest->whole.s);
		return -EINVAL;
	}
	if (plain || named) {
		rest->mods = tail;
		return plain ? event_finish(p, &ev, rest) : event_pmu_add_named(p, group, rest);
	}
	colon = memchr(group.s, ':', group.len);
	if (colon) {
		rest->mods = tail;
		tail = (struct piece){ colon + 1, group.len - (size_t)(colon - group.s) - 1 };
		group.len = (size_t)(colon - group.s);
		if (event_plain(p, group, &ev)) {
			pr_err("event '%.*s': modifiers are given once, after one colon", (int)rest->whole.len, rest->whole.s);
			return -EINVAL;
		}
	}
	if (!group.len || !tail.len)
		return unknown(p, rest->whole);
	/* A misspelt event with modifiers. */
	if (event_modifiers_like(tail) && !event_tracepoint_group(p, group))
		return unknown(p, group);
	return event_tracepoint(p, group, tail, rest);
}

/* Is it for a probe that is still to be made? perf probe may make groups of these names. */
static bool wants_probe(struct event_parser *p, struct piece text)
{
	static const char *const kinds[] = { "uprobe", "uretprobe", "kprobe", "kretprobe", "usdt" };
	const char *colon = memchr(text.s, ':', text.len);
	struct piece kind = { text.s, colon ? (size_t)(colon - text.s) : 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (piece_is(kind, kinds[i]))
			return !event_tracepoint_group(p, kind);
	return kind.len > 4 && !memcmp(kind.s, "sdt_", 4) && !event_tracepoint_group(p, kind);
}

int event_parse(struct event_parser *p, struct piece text)
{
	struct event_rest rest;
	struct piece name, name_only;
	struct evsel ev;
	bool slashes;
	int err;

	if (text.len > 4 && !memcmp(text.s, "mem:", 4))
		return event_breakpoint(p, text);
	if (wants_probe(p, text)) {
		pr_err("event '%.*s': nsprof makes no probes; it records those that perf probe has made: -e GROUP:NAME", (int)text.len,
		       text.s);
		return -EINVAL;
	}
	err = split(text, &name, &rest);
	if (err)
		return err;
	slashes = name.len < text.len;
	name_only = name;
	if (memchr(name.s, ':', name.len))
		name_only.len = (size_t)((const char *)memchr(name.s, ':', name.len) - name.s);
	if (piece_is(name_only, "dummy")) {
		pr_info("event 'dummy' counts nothing, and is left out: processes and mappings are recorded in any case");
		return 0;
	}
	if (why_not(name_only)) {
		pr_err("event '%.*s' cannot be sampled: %s", (int)text.len, text.s, why_not(name_only));
		return -EINVAL;
	}
	if (slashes && event_pmu_known(p, name))
		return event_pmu(p, name, &rest);
	if (event_plain(p, name, &ev))
		return event_finish(p, &ev, &rest);
	if (event_pmu_named(p, name))
		return event_pmu_add_named(p, name, &rest);
	if (memchr(name.s, ':', name.len))
		return parse_with_colon(p, name, &rest);
	return slashes ? unknown_pmu(p, name, text) : unknown(p, name);
}
