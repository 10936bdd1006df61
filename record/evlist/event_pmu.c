/*
 * Events of PMUs, by what sysfs says about them: "cpu/event=0x3c,umask=1/", "cpu_core/cycles/",
 * "uncore_imc/data_reads/", and by name alone.
 */
#include <errno.h>
#include <fnmatch.h>
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

#define UNCORE "uncore_"
#define HYBRID_SHIFT 32	/* PERF_PMU_TYPE_SHIFT: the kind of core that a hardware event is for */

/*
 * As perf matches them: by name; by pattern; without the number of one of several alike
 * ("uncore_imc" for "uncore_imc_0"), also without "uncore_"; and "cpu" for every kind of core.
 */
static bool matches(const struct pmus *all, const struct pmu *pmu, struct piece head)
{
	const bool uncore = !strncmp(pmu->name, UNCORE, strlen(UNCORE)) && (head.len < strlen(UNCORE) || memcmp(head.s, UNCORE, strlen(UNCORE)));
	const char *name = pmu->name + (uncore ? strlen(UNCORE) : 0);
	size_t len = strlen(name);
	char pattern[256];

	if (piece_is(head, pmu->name))
		return true;
	if (pmus_find(all, head.s, head.len) || head.len >= sizeof(pattern))
		return false;
	if (piece_is(head, "cpu"))
		return pmu->core;
	memcpy(pattern, head.s, head.len);
	pattern[head.len] = '\0';
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, name, 0) || !fnmatch(pattern, pmu->name, 0);
	if (piece_is(head, name))
		return true;
	while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	return len && name[len] && name[len - 1] == '_' && head.len == len - 1 && !memcmp(name, head.s, head.len);
}

bool event_pmu_known(struct event_parser *p, struct piece head)
{
	const struct pmus *all = event_parser_pmus(p);

	for (size_t i = 0; i < all->n; i++)
		if (matches(all, &all->v[i], head))
			return true;
	return false;
}

static int set_bits(struct evsel *ev, const struct pmu_format *f, const struct event_term *t, uint64_t value, struct piece whole)
{
	uint64_t *to = f->config == 2 ? &ev->config2 : f->config == 1 ? &ev->config1 : &ev->config, bits;

	if (!pmu_spread(f->mask, value, &bits)) {
		pr_err("event '%.*s': %.*s is too large; '%.*s' has %d bits", (int)whole.len, whole.s, (int)t->text.len, t->text.s,
		       (int)t->name.len, t->name.s, __builtin_popcountll(f->mask));
		return -EINVAL;
	}
	*to = (*to & ~f->mask) | bits;
	return 0;
}

static int unknown_term(struct event_parser *p, const struct pmu *pmu, const struct event_term *t, struct piece whole)
{
	const struct pmus *all = &p->el->pmus;
	char **events, **terms, meant[300];
	const size_t nevents = pmu_names(all, pmu, "events", &events), nterms = pmu_names(all, pmu, "format", &terms);
	struct strbuf list = STRBUF_INIT;
	const char *listed;
	struct suggest s;

	p->absent = true;
	suggest_init(&s, t->name.s, t->name.len);
	for (size_t i = 0; i < nevents; i++)
		suggest_offer(&s, events[i]);
	for (size_t i = 0; i < nterms; i++) {
		suggest_offer(&s, terms[i]);
		strbuf_addf(&list, "%s%s", i ? ", " : "", terms[i]);
	}
	/* nsprof-list has no other PMU without events; those of the software PMU are the kernel's own. */
	listed = nevents + nterms ? pmu->name : pmu->type == PERF_TYPE_SOFTWARE ? "sw" : "pmu";
	pr_err("event '%.*s': PMU '%s' has no event or term '%.*s'.%s Its terms are %s; 'nsprof list %s%s' shows events.",
	       (int)whole.len, whole.s, pmu->name, (int)t->name.len, t->name.s, suggest_text(&s, "", meant, sizeof(meant)),
	       nterms ? list.s : "config, config1 and config2", listed, nevents + nterms ? "/" : "");
	strbuf_fini(&list);
	name_list_free(events, nevents);
	name_list_free(terms, nterms);
	return -EINVAL;
}

/* A term of the PMU itself. 1: it was one. 0: it is none. -EINVAL after a message. */
static int own_term(const struct pmus *all, const struct pmu *pmu, struct evsel *ev, const struct event_term *t, struct piece whole)
{
	static const char *const configs[] = { "config", "config1", "config2" };
	struct pmu_format f;
	uint64_t value = 1;
	int err;

	err = pmu_format(all, pmu, t->name.s, t->name.len, &f);
	for (size_t i = 0; i < ARRAY_SIZE(configs) && err; i++)
		if (piece_is(t->name, configs[i])) {
			f = (struct pmu_format){ .config = (uint8_t)i, .mask = UINT64_MAX };
			err = 0;
		}
	if (err == -EINVAL) {
		pr_err("event '%.*s': term '%.*s' of PMU '%s' sets fields that nsprof does not know", (int)whole.len, whole.s,
		       (int)t->name.len, t->name.s, pmu->name);
		return -EINVAL;
	}
	if (err)
		return 0;
	if (t->value.s && event_number(t->value, &value)) {
		pr_err("event '%.*s': '%.*s' is not a number; terms take decimal or 0x numbers", (int)whole.len, whole.s,
		       (int)t->text.len, t->text.s);
		return -EINVAL;
	}
	err = set_bits(ev, &f, t, value, whole);
	return err ? err : 1;
}

/* The unit of a named event's counts: files beside it. */
static void read_unit(struct event_parser *p, const struct pmu *pmu, struct piece name, struct evsel *ev)
{
	char file[300], text[128];
	int n;

	if (name.len > 255)
		return;
	n = snprintf(file, sizeof(file), "%.*s.unit", (int)name.len, name.s);
	if (pmu_text(&p->el->pmus, pmu, "events", file, (size_t)n, text, sizeof(text)) > 0)
		ev->unit = evlist_keep(p->el, xstrdup(text));
	n = snprintf(file, sizeof(file), "%.*s.scale", (int)name.len, name.s);
	if (pmu_text(&p->el->pmus, pmu, "events", file, (size_t)n, text, sizeof(text)) > 0)
		ev->scale = strtod(text, NULL);
}

/* The event "NAME" in sysfs is text of terms: "event=0xcd,umask=0x1,ldlat=3". As above. */
static int named(struct event_parser *p, const struct pmu *pmu, struct evsel *ev, const struct event_term *t, struct piece whole)
{
	char text[PMU_TEXT_MAX];
	struct event_term own;
	struct piece rest = { text, 0 };
	int n = pmu_text(&p->el->pmus, pmu, "events", t->name.s, t->name.len, text, sizeof(text)), err;

	if (n < 0 || t->value.s)
		return 0;
	rest.len = (size_t)n;
	while ((err = event_term_next(&rest, &own, whole)) > 0) {
		/* "=?": the user has to say. */
		if (own.value.s && piece_is(own.value, "?"))
			continue;
		err = own_term(&p->el->pmus, pmu, ev, &own, whole);
		if (err <= 0)
			return err ? err : unknown_term(p, pmu, &own, whole);
	}
	read_unit(p, pmu, t->name, ev);
	return err ? err : 1;
}

/*
 * "cpu_core/cycles/", "cpu/L1-dcache-loads/", "cpu/r1a8/": what all kinds of core have, and
 * "software/page-faults/". As above.
 */
static int generic(struct event_parser *p, const struct pmu *pmu, struct evsel *ev, const struct event_term *t)
{
	struct evsel plain;
	uint64_t config;

	if (t->value.s)
		return 0;
	if (t->name.len > 1 && t->name.s[0] == 'r' && !event_hex((struct piece){ t->name.s + 1, t->name.len - 1 }, &config)) {
		ev->config |= config;
		return 1;
	}
	if (!event_plain(p, t->name, &plain))
		return 0;
	if (pmu->type == PERF_TYPE_SOFTWARE && plain.type == PERF_TYPE_SOFTWARE) {
		ev->config = plain.config;
		return 1;
	}
	if (!pmu->core || (plain.type != PERF_TYPE_HARDWARE && plain.type != PERF_TYPE_HW_CACHE))
		return 0;
	ev->type = plain.type;
	ev->config = plain.config | (p->el->pmus.ncores > 1 ? (uint64_t)pmu->type << HYBRID_SHIFT : 0);
	return 1;
}

static int take_terms(struct event_parser *p, const struct pmu *pmu, struct evsel *ev, const struct event_rest *r,
		      struct strbuf *shown)
{
	struct piece rest = r->terms;
	struct event_term t;
	int err;

	while ((err = event_term_next(&rest, &t, r->whole)) > 0) {
		err = event_term_common(p, ev, &t, r->whole);
		if (err > 0)
			continue;
		if (!err)
			err = own_term(&p->el->pmus, pmu, ev, &t, r->whole);
		if (!err)
			err = named(p, pmu, ev, &t, r->whole);
		if (!err)
			err = generic(p, pmu, ev, &t);
		if (!err)
			err = unknown_term(p, pmu, &t, r->whole);
		if (err < 0)
			return err;
		if (shown->len)
			strbuf_addc(shown, ',');
		strbuf_add(shown, t.text.s, t.text.len);
	}
	return err;
}

static int add_one(struct event_parser *p, const struct pmu *pmu, const struct event_rest *r)
{
	struct event_modifiers m = { .precise = 0 };
	struct strbuf shown = STRBUF_INIT;
	struct evsel ev;
	int err;

	evsel_init(&ev, NULL, pmu->type, 0);
	ev.pmu = pmu->name;
	ev.cpus = pmu->cpus;
	ev.ncpus = pmu->ncpus;
	err = take_terms(p, pmu, &ev, r, &shown);
	if (ev.type == PERF_TYPE_SOFTWARE)
		ev.unit = evsel_is_clock(&ev) ? "ns" : "";
	if (!err)
		err = event_modifiers_parse(&m, r->mods, r->whole, false);
	if (!err) {
		if (!ev.name)
			ev.name = evlist_keep(p->el, xasprintf("%s/%s/", pmu->name, shown.s ? shown.s : ""));
		event_modifiers_apply(&m, &ev, true);
		err = evlist_add(p, &ev);
	}
	strbuf_fini(&shown);
	return err;
}

/* Has the PMU a term, or an event, of this name? */
static bool has_term(struct event_parser *p, const struct pmu *pmu, const struct event_term *t)
{
	struct pmu_format f;
	char text[PMU_TEXT_MAX];
	struct evsel ev;

	if (event_term_is_common(t->name) || piece_is(t->name, "config") || piece_is(t->name, "config1") || piece_is(t->name, "config2"))
		return true;
	evsel_init(&ev, NULL, pmu->type, 0);
	return pmu_format(&p->el->pmus, pmu, t->name.s, t->name.len, &f) != -ENOENT ||
	       (!t->value.s && pmu_text(&p->el->pmus, pmu, "events", t->name.s, t->name.len, text, sizeof(text)) >= 0) ||
	       generic(p, pmu, &ev, t);
}

/* Is a term of the event unknown to the PMU? What is wrong with it otherwise comes out when it is taken. */
static bool lacks(struct event_parser *p, const struct pmu *pmu, const struct event_rest *r)
{
	struct piece rest = r->terms;
	struct event_term t;

	while (event_term_next(&rest, &t, r->whole) > 0)
		if (!has_term(p, pmu, &t))
			return true;
	return false;
}

static void tell_lacking(const struct strbuf *lacking, size_t n, struct piece whole)
{
	pr_info("event '%.*s': PMU%s %s %s not have it, and %s left out", (int)whole.len, whole.s, plural(n), lacking->s,
		n == 1 ? "does" : "do", n == 1 ? "is" : "are");
}

/* One of several PMUs, such as those of the kinds of core, may lack the event. If all do, the first one says so. */
int event_pmu(struct event_parser *p, struct piece head, const struct event_rest *rest)
{
	const struct pmus *all = event_parser_pmus(p);
	struct strbuf lacking = STRBUF_INIT;
	size_t nlacking = 0, found = 0;
	const struct pmu *first = NULL;
	int err = 0;

	for (size_t i = 0; i < all->n && !err; i++) {
		const struct pmu *pmu = &all->v[i];

		if (!matches(all, pmu, head))
			continue;
		first = first ? first : pmu;
		if (lacks(p, pmu, rest)) {
			strbuf_addf(&lacking, "%s%s", nlacking++ ? ", " : "", pmu->name);
			continue;
		}
		found++;
		err = add_one(p, pmu, rest);
	}
	if (!found && first)
		err = add_one(p, first, rest);
	else if (!err && nlacking)
		tell_lacking(&lacking, nlacking, rest->whole);
	strbuf_fini(&lacking);
	return err;
}

static bool has(const struct pmus *all, const struct pmu *pmu, struct piece name)
{
	char text[PMU_TEXT_MAX];

	return pmu_text(all, pmu, "events", name.s, name.len, text, sizeof(text)) >= 0;
}

bool event_pmu_named(struct event_parser *p, struct piece name)
{
	const struct pmus *all = event_parser_pmus(p);

	for (size_t i = 0; i < all->n; i++)
		if (has(all, &all->v[i], name))
			return true;
	return false;
}

int event_pmu_add_named(struct event_parser *p, struct piece name, const struct event_rest *rest)
{
	const struct pmus *all = event_parser_pmus(p);
	char *terms = rest->terms.len ? xasprintf("%.*s,%.*s", (int)name.len, name.s, (int)rest->terms.len, rest->terms.s)
				      : xstrndup(name.s, name.len);
	struct event_rest r = { { terms, strlen(terms) }, rest->mods, rest->whole };
	int err = 0;

	for (size_t i = 0; i < all->n && !err; i++)
		if (has(all, &all->v[i], name))
			err = add_one(p, &all->v[i], &r);
	free(terms);
	return err;
}
