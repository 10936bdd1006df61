/* nsprof-list: the command line, and the list or JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "bytes/json.h"
#include "cli/opt.h"
#include "cli/pager.h"
#include "list/event_catalog.h"
#include "list/list_names.h"
#include "trace/tp_format.h"

#define WIDTH_MAX 44	/* columns of a name, unless it is longer */

struct options {
	bool json, verbose, build_info;
	const char *typed;	/* --list-names, for completion; NULL: not given */
};

/* ---- text ---- */

static const char *const titles[CATALOG_KINDS] = {
	[CATALOG_HARDWARE] = "hardware events",
	[CATALOG_SOFTWARE] = "software events",
	[CATALOG_CACHE] = "hardware events of caches",
	[CATALOG_PMU] = "events of PMUs",
	[CATALOG_TRACEPOINT] = "tracepoints",
	[CATALOG_OTHER] = "others",
};

static void print_fields(FILE *to, const char *format)
{
	struct tp_format f;

	if (!tp_format_parse(&f, format, strlen(format)))
		for (size_t i = 0; i < f.n; i++)
			fprintf(to, "      %s %s\n", f.v[i].type, f.v[i].name);
	tp_format_fini(&f);
}

/* The events of one kind that this machine has. Returns how many it lacks. */
static size_t print_present(FILE *to, const struct event_catalog *c, enum catalog_kind kind)
{
	size_t missing = 0, there = 0;
	int width = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct catalog_event *e = &c->v[i];
		const int len = (int)strlen(e->name);

		if (e->kind != kind)
			continue;
		missing += e->missing;
		if (!e->missing && len <= WIDTH_MAX)
			width = MAX(width, len);
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct catalog_event *e = &c->v[i];

		if (e->kind != kind || e->missing)
			continue;
		if (!there++)
			fprintf(to, "%s:\n", titles[kind]);
		fprintf(to, "  %-*s  %s\n", width, e->name, e->text);
		if (e->format)
			print_fields(to, e->format);
	}
	return missing;
}

static void print_missing(FILE *to, const struct event_catalog *c, enum catalog_kind kind)
{
	const char *lead = "  not on this machine: ";

	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].kind != kind || !c->v[i].missing)
			continue;
		fprintf(to, "%s%s", lead, c->v[i].name);
		lead = ", ";
	}
	fputc('\n', to);
}

static void print_text(FILE *to, const struct event_catalog *c, bool all)
{
	bool first = true;

	for (int kind = 0; kind < CATALOG_KINDS; kind++) {
		const struct strbuf *absent = &c->absent[kind];
		bool any = all && absent->len;

		for (size_t i = 0; i < c->n; i++)
			any |= (int)c->v[i].kind == kind;
		if (!any)
			continue;
		if (!first)
			fputc('\n', to);
		first = false;
		if (absent->len)
			fprintf(to, "%s: none: %s\n", titles[kind], absent->s);
		if (print_present(to, c, (enum catalog_kind)kind))
			print_missing(to, c, (enum catalog_kind)kind);
	}
}

/* ---- JSON ---- */

static void json_fields(struct json *j, const char *format)
{
	struct tp_format f;

	json_begin_array(j, "fields");
	if (!tp_format_parse(&f, format, strlen(format))) {
		for (size_t i = 0; i < f.n; i++) {
			json_begin_object(j, NULL);
			json_str(j, "name", f.v[i].name);
			json_str(j, "type", f.v[i].type);
			json_u64(j, "offset", f.v[i].offset);
			json_u64(j, "size", f.v[i].size);
			json_bool(j, "signed", f.v[i].is_signed);
			json_end_object(j);
		}
	}
	tp_format_fini(&f);
	json_end_array(j);
}

static void print_json(FILE *to, const struct event_catalog *c)
{
	struct json *j = json_new(to);

	json_begin_object(j, NULL);
	json_begin_array(j, "events");
	for (size_t i = 0; i < c->n; i++) {
		const struct catalog_event *e = &c->v[i];

		json_begin_object(j, NULL);
		json_str(j, "name", e->name);
		json_str(j, "kind", event_catalog_kind(e->kind));
		json_str(j, "description", e->text);
		json_bool(j, "available", !e->missing && !e->unsampled);
		if (e->format)
			json_fields(j, e->format);
		json_end_object(j);
	}
	json_end_array(j);
	json_begin_object(j, "absent");
	for (int kind = 0; kind < CATALOG_KINDS; kind++)
		if (c->absent[kind].len)
			json_str(j, event_catalog_kind((enum catalog_kind)kind), c->absent[kind].s);
	json_end_object(j);
	json_end_object(j);
	json_free(j);
}

/* ---- the command ---- */

/* Nothing matches. What could not be read may have had it. */
static void tell_nothing(const struct event_catalog *c, char *const *patterns, size_t n)
{
	struct strbuf all = STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&all, "%s'%s'", i ? " or " : "", patterns[i]);
	pr_err("no event matches %s; 'nsprof list' without a pattern shows all", all.s);
	for (int kind = CATALOG_PMU; kind <= CATALOG_TRACEPOINT; kind++)
		if (c->absent[kind].len)
			pr_detail("%s: %s", titles[kind], c->absent[kind].s);
	strbuf_fini(&all);
}

static int run(const struct options *o, char *const *patterns, size_t n)
{
	struct event_catalog c;
	struct outfile *out;
	pid_t pager = 0;
	int rc = 1;

	event_catalog_load(&c, NULL, patterns, n, o->verbose || o->json);
	if (!c.n && n && !o->json) {
		tell_nothing(&c, patterns, n);
		event_catalog_fini(&c);
		return rc;
	}
	if (!o->json)
		pager = pager_start();
	out = outfile_open("-");
	if (out) {
		if (o->json)
			print_json(outfile_stream(out), &c);
		else
			print_text(outfile_stream(out), &c, !n);
		rc = outfile_close(out) ? 1 : 0;
	}
	pager_end(pager);
	event_catalog_fini(&c);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { .json = false };
	const struct opt opts[] = {
		OPT_GROUP("Options"),
		{ "verbose", 'v', NULL, "show the fields of tracepoints", OPT_FLAG, &o.verbose,
		  .more = "Each line has a field's type and name. Filters and `--fields` of nsprof-record(1) use these names." },
		{ "json", 'j', NULL, "write JSON with all fields", OPT_FLAG, &o.json, .more = "See JSON." },
		{ "list-names", 0, "TYPED", NULL, OPT_STR, &o.typed, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o.build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof list [options] [PATTERN...]",
		.summary = "List the events of this machine that nsprof record -e takes: hardware, cache and software events, those of PMUs, and "
			   "tracepoints. PATTERN is a shell pattern ('block:*'), a part of a name, or a kind: hw, sw, cache, pmu, tracepoint.",
		.epilog = "Examples:\n"
			  "  nsprof list sched               all events with sched in their names\n"
			  "  nsprof list -v sched:sched_switch\n"
			  "                                  with its fields\n"
			  "  nsprof list 'syscalls:sys_enter_*sync*'\n"
			  "\n"
			  "Exit status: 0 success; 1 failure, or nothing matches; 129 wrong command line.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.operands = OPT_VALUE_EVENT,
	};
	int first, err;

	log_init("nsprof list");
	signals_init();
	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err == OPT_HELP ? 0 : EXIT_USAGE;
	if (o.build_info) {
		puts("list: sysfs tracefs");
		return 0;
	}
	if (o.typed) {
		list_names(o.typed, NULL, stdout);
		return fflush(stdout) ? 1 : 0;
	}
	return run(&o, argv + first, (size_t)(argc - first));
}
