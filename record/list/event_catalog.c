#include "list/event_catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "cli/event_name.h"
#include "evlist/name_list.h"
#include "evlist/pmu.h"
#include "evlist/tracefs.h"
#include "trace/tp_format.h"

#define FIELDS_SHOWN 100	/* columns of a tracepoint's fields, in one line */

struct loader {
	struct event_catalog *c;
	char *const *patterns;
	size_t n;
	bool fields;
};

static const struct {
	const char *name;
	const char *words[4];	/* that choose the whole kind; those of perf list among them */
} kinds[CATALOG_KINDS] = {
	[CATALOG_HARDWARE] = { "hardware", { "hardware", "hw" } },
	[CATALOG_SOFTWARE] = { "software", { "software", "sw" } },
	[CATALOG_CACHE] = { "cache", { "cache", "hwcache" } },
	[CATALOG_PMU] = { "PMU", { "pmu" } },
	[CATALOG_TRACEPOINT] = { "tracepoint", { "tracepoint", "tracepoints" } },
	[CATALOG_OTHER] = { "other", { "other", "rawpmu", "raw" } },
};

const char *event_catalog_kind(enum catalog_kind kind)
{
	return kinds[kind].name;
}

/* The kind that @pattern is a word for; CATALOG_KINDS: none. */
static enum catalog_kind named_kind(const char *pattern)
{
	int kind;

	for (kind = 0; kind < CATALOG_KINDS; kind++)
		for (size_t i = 0; i < ARRAY_SIZE(kinds[kind].words) && kinds[kind].words[i]; i++)
			if (!strcasecmp(pattern, kinds[kind].words[i]))
				return (enum catalog_kind)kind;
	return CATALOG_KINDS;
}

/* Does any pattern choose @name? */
static bool wanted(const struct loader *l, enum catalog_kind kind, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *p = l->patterns[i];
		const enum catalog_kind all = named_kind(p);

		if (all != CATALOG_KINDS ? all == kind : strpbrk(p, "*?[") ? !fnmatch(p, name, FNM_CASEFOLD) : !!strcasestr(name, p))
			return true;
	}
	return !l->n;
}

static struct catalog_event *add(struct loader *l, enum catalog_kind kind, char *name, char *text)
{
	struct event_catalog *c = l->c;

	XGROW(c->v, c->n, c->cap);
	c->v[c->n] = (struct catalog_event){ .kind = kind, .name = name, .text = text };
	return &c->v[c->n++];
}

/*
 * perf_event_open(2) of an event that counts nothing yet, in our own user code, or on @cpu if that is
 * not -1. @period 0: without sampling. 0 or negative errno.
 */
static int try_open(uint32_t type, uint64_t config, uint64_t period, int cpu)
{
	struct perf_event_attr attr = {
		.type = type, .config = config, .size = sizeof(attr), .disabled = 1, .exclude_kernel = cpu < 0, .exclude_hv = cpu < 0,
		.sample_period = period,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_event(uint32_t type, uint64_t config)
{
	return try_open(type, config, 0, -1);
}

/* Some PMUs have no interrupt. They refuse a period with EINVAL, whatever the event. */
static bool only_counts(const struct pmu *pmu)
{
	const int cpu = pmu->ncpus ? (int)pmu->cpus[0] : 0;

	return !pmu->core && try_open(pmu->type, 0, 0, cpu) != -EINVAL && try_open(pmu->type, 0, UINT32_MAX, cpu) == -EINVAL;
}

static bool is_missing(int err)
{
	return err == -ENOENT || err == -ENXIO || err == -ENODEV || err == -EOPNOTSUPP || err == -EINVAL;
}

static enum catalog_kind kind_of(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE ? CATALOG_HARDWARE : type == PERF_TYPE_SOFTWARE ? CATALOG_SOFTWARE : CATALOG_CACHE;
}

/* With several kinds of core, the kernel takes these names for whichever is first; -e for all. */
static void load_named(struct loader *l)
{
	static const char *const what[] = { "hardware counters", "software events", "hardware counters of caches" };
	size_t there[CATALOG_CACHE + 1] = { 0 }, i = 0;
	const struct event_name *n;

	while ((n = event_name_next(&i))) {
		const enum catalog_kind kind = kind_of(n->type);
		const bool missing = is_missing(try_event(n->type, n->config));
		struct catalog_event *ev;

		there[kind] += !missing;
		if (!wanted(l, kind, n->name) && (!n->alias || !wanted(l, kind, n->alias)))
			continue;
		ev = add(l, kind, xstrdup(n->name), n->alias ? xasprintf("%s (also: %s)", n->help, n->alias) : xstrdup(n->help));
		ev->missing = missing;
	}
	for (int kind = 0; kind <= CATALOG_CACHE; kind++)
		if (!there[kind])
			strbuf_addf(&l->c->absent[kind], "this machine has no %s%s", what[kind],
				    kind == CATALOG_SOFTWARE ? "" : "; virtual machines often have none");
}

/* Probes by path or function: not by terms. */
static bool is_probe(const struct pmu *pmu)
{
	return !strcmp(pmu->name, "uprobe") || !strcmp(pmu->name, "kprobe");
}

/* "event=0x3c, in Joules" */
static char *pmu_event_text(const struct pmus *all, const struct pmu *pmu, const char *name)
{
	char terms[PMU_TEXT_MAX], unit[128], file[300];

	if (pmu_text(all, pmu, "events", name, strlen(name), terms, sizeof(terms)) < 0)
		terms[0] = '\0';
	snprintf(file, sizeof(file), "%s.unit", name);
	if (pmu_text(all, pmu, "events", file, strlen(file), unit, sizeof(unit)) <= 0)
		return xstrdup(terms);
	return xasprintf("%s, in %s", terms, unit);
}

/* "raw event: event=0..255, umask=0..255, inv" */
static char *terms_text(const struct pmus *all, const struct pmu *pmu)
{
	struct strbuf sb = STRBUF_INIT;
	struct pmu_format f;
	char **names;
	size_t n = pmu_names(all, pmu, "format", &names);
	const char *lead = "";

	for (size_t i = 0; i < n; i++) {
		if (pmu_format(all, pmu, names[i], strlen(names[i]), &f))
			continue;
		strbuf_addf(&sb, "%s%s", lead, names[i]);
		lead = ", ";
		if (f.mask & (f.mask - 1))
			strbuf_addf(&sb, "=0..0x%llx", (unsigned long long)(~0ull >> (64 - __builtin_popcountll(f.mask))));
	}
	name_list_free(names, n);
	return sb.s;
}

/* Takes @name and @text. */
static void add_of_pmu(struct loader *l, char *name, char *text, bool unsampled)
{
	struct catalog_event *ev;

	if (!wanted(l, CATALOG_PMU, name)) {
		free(name);
		free(text);
		return;
	}
	ev = add(l, CATALOG_PMU, name, unsampled ? xasprintf("%s; can only be counted, not sampled", text) : text);
	ev->unsampled = unsampled;
	if (unsampled)
		free(text);
}

static void load_pmus(struct loader *l, const char *path)
{
	struct pmus all;
	size_t events = 0;

	pmus_load(&all, path);
	for (size_t i = 0; i < all.n; i++) {
		const struct pmu *pmu = &all.v[i];
		char **names = NULL, *terms = is_probe(pmu) ? NULL : terms_text(&all, pmu);
		size_t n = is_probe(pmu) ? 0 : pmu_names(&all, pmu, "events", &names);
		const bool counts = (n || terms) && only_counts(pmu);

		for (size_t k = 0; k < n; k++)
			add_of_pmu(l, xasprintf("%s/%s/", pmu->name, names[k]), pmu_event_text(&all, pmu, names[k]), counts);
		name_list_free(names, n);
		if (terms)
			add_of_pmu(l, xasprintf("%s/TERM,.../", pmu->name), xasprintf("by its terms: %s", terms), counts);
		events += n + !!terms;
		free(terms);
	}
	if (all.dir < 0)
		strbuf_addf(&l->c->absent[CATALOG_PMU], "%s cannot be read: %s", path, strerror(-all.dir));
	else if (!events)
		strbuf_addf(&l->c->absent[CATALOG_PMU], "no PMU in %s has events of its own", path);
	pmus_fini(&all);
}

/* "prev_comm, prev_pid, prev_prio" of the fields that are its own. */
static char *field_names(const char *format)
{
	struct strbuf sb = STRBUF_INIT;
	struct tp_format f;

	if (tp_format_parse(&f, format, strlen(format)))
		strbuf_adds(&sb, "fields unknown: its format cannot be read");
	for (size_t i = 0; i < f.n; i++) {
		if (f.v[i].common)
			continue;
		if (sb.len + strlen(f.v[i].name) > FIELDS_SHOWN) {
			strbuf_adds(&sb, ", ...");
			break;
		}
		strbuf_addf(&sb, "%s%s", sb.len ? ", " : "", f.v[i].name);
	}
	tp_format_fini(&f);
	return sb.s ? sb.s : xstrdup("no fields of its own");
}

static void load_tracepoint(struct loader *l, const struct tracefs *t, const char *group, const char *name, char *full)
{
	struct strbuf format = STRBUF_INIT;
	struct catalog_event *ev;
	uint64_t id;

	/* Some are there for ftrace itself. */
	if (tracefs_id(t, group, name, &id) || tracefs_format(t, group, name, &format) || !format.s) {
		strbuf_fini(&format);
		free(full);
		return;
	}
	ev = add(l, CATALOG_TRACEPOINT, full, field_names(format.s));
	if (l->fields)
		ev->format = format.s;
	else
		strbuf_fini(&format);
}

static void load_tracepoints(struct loader *l, const char *path)
{
	char **groups, **names, why[512];
	struct tracefs t;
	size_t n, k;

	if (tracefs_open(&t, path, why, sizeof(why))) {
		strbuf_adds(&l->c->absent[CATALOG_TRACEPOINT], why);
		return;
	}
	n = tracefs_names(&t, NULL, &groups);
	for (size_t i = 0; i < n; i++) {
		k = tracefs_names(&t, groups[i], &names);
		for (size_t m = 0; m < k; m++) {
			char *full = xasprintf("%s:%s", groups[i], names[m]);

			if (wanted(l, CATALOG_TRACEPOINT, full))
				load_tracepoint(l, &t, groups[i], names[m], full);
			else
				free(full);
		}
		name_list_free(names, k);
	}
	if (!n)
		strbuf_adds(&l->c->absent[CATALOG_TRACEPOINT], "this kernel has no tracepoints (CONFIG_EVENT_TRACING)");
	name_list_free(groups, n);
	tracefs_close(&t);
}

static void load_others(struct loader *l)
{
	static const struct {
		const char *name, *text;
	} others[] = {
		{ "rHEX", "raw event of the CPU: HEX is umask and event, as in the CPU's manual" },
		{ "mem:ADDR[/LEN][:rwx]", "breakpoint: reads, writes or execution of an address" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (wanted(l, CATALOG_OTHER, others[i].name))
			add(l, CATALOG_OTHER, xstrdup(others[i].name), xstrdup(others[i].text));
}

/* Orders by kind. Within one, as they were found: perf's order says which names are used most. */
static void sort_by_kind(struct event_catalog *c)
{
	struct catalog_event *sorted = xcalloc(c->n + 1, sizeof(*sorted));
	size_t n = 0;

	for (int kind = 0; kind < CATALOG_KINDS; kind++)
		for (size_t i = 0; i < c->n; i++)
			if ((int)c->v[i].kind == kind)
				sorted[n++] = c->v[i];
	free(c->v);
	c->v = sorted;
	c->cap = c->n + 1;
}

void event_catalog_load(struct event_catalog *c, const struct evlist_places *places, char *const *patterns, size_t n, bool fields)
{
	struct loader l = { .c = c, .patterns = patterns, .n = n, .fields = fields };

	memset(c, 0, sizeof(*c));
	load_named(&l);
	load_pmus(&l, places && places->pmus ? places->pmus : PMUS_PATH);
	load_tracepoints(&l, places ? places->tracefs : NULL);
	load_others(&l);
	sort_by_kind(c);
}

void event_catalog_fini(struct event_catalog *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		free(c->v[i].text);
		free(c->v[i].format);
	}
	free(c->v);
	for (size_t i = 0; i < CATALOG_KINDS; i++)
		strbuf_fini(&c->absent[i]);
	memset(c, 0, sizeof(*c));
}
