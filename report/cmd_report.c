/* nsprof report: tables and a flame graph of a profile. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "calltree.h"
#include "chains.h"
#include "filter.h"
#include "grid.h"
#include "header.h"
#include "html.h"
#include "leading.h"
#include "load.h"
#include "log.h"
#include "maxstack.h"
#include "opt.h"
#include "outfile.h"
#include "pager.h"
#include "pages.h"
#include "perf_opts.h"
#include "profile.h"
#include "rec_reader.h"
#include "signals.h"
#include "strbuf.h"
#include "sortkeys.h"
#include "svg.h"
#include "table.h"
#include "util.h"
#include "xalloc.h"

#define LIMIT_UNSET UINT64_MAX

enum report_weight { WEIGHT_BEST, WEIGHT_SAMPLES, WEIGHT_PERIOD };

enum report_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_SVG };

struct report_opts {
	struct load_opts load;
	const char *input, *output, *format, *focus, *by, *title;
	char *sort;			/* owned; NULL = the default */
	struct lead lead;	/* --by */
	struct table_opts table;
	enum report_format kind;
	bool csv, json, tree;
	enum report_weight weight;	/* as asked for */
	bool period;			/* what it comes to */
	bool folded;			/* -g folded */
	struct chains_opts chains;
	char separator;			/* -t; 0 = aligned columns */
	bool stats, header_only, demangle;
	size_t filters_cap, lists_cap;
	uint64_t width;
	bool build_info;
	int verbose;
};

/* What there is to show. */
struct report_in {
	const struct report_opts *opts;
	const struct profile *profile;
	struct calltree *tree;	/* NULL: not needed */
	struct header header;
	bool color;
};

static int set_percent(void *dst, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100)) {
		pr_err("'%s' is not a share: --percent-limit takes a number from 0 to 100", arg);
		return -EINVAL;
	}
	*(double *)dst = v;
	return 0;
}

static int set_weight(void *dst, const char *arg)
{
	if (strcmp(arg, "samples") && strcmp(arg, "period")) {
		pr_err("unknown weight '%s': --weight takes samples or period", arg);
		return -EINVAL;
	}
	*(enum report_weight *)dst = strcmp(arg, "period") ? WEIGHT_SAMPLES : WEIGHT_PERIOD;
	return 0;
}

static int add_filter(void *dst, const char *arg)
{
	struct report_opts *o = dst;

	XGROW(o->load.filters, o->load.nfilters, o->filters_cap);
	o->load.filters[o->load.nfilters++] = arg;
	return 0;
}

/*
 * A list of perf's is passed to nsprof-symbolize, which knows whose samples there are. What makes no sense is our command line's
 * fault, whatever the input is.
 */
static int pass(struct report_opts *o, enum filter_key key, const char *option, const char *arg)
{
	struct filter f = { 0 };
	int err = key == FILTER_TIME ? filter_add_span(&f, arg) : filter_add_list(&f, key, option, arg);

	filter_fini(&f);
	if (err)
		return err;
	XGROW(o->load.lists, o->load.nlists, o->lists_cap);
	o->load.lists[o->load.nlists++] = (struct load_list){ key, option, arg };
	return 0;
}

static int pass_comms(void *dst, const char *arg)
{
	return pass(dst, FILTER_COMM, "--comms", arg);
}

static int pass_pid(void *dst, const char *arg)
{
	return pass(dst, FILTER_PID, "--pid", arg);
}

static int pass_tid(void *dst, const char *arg)
{
	return pass(dst, FILTER_TID, "--tid", arg);
}

static int pass_time(void *dst, const char *arg)
{
	return pass(dst, FILTER_TIME, "--time", arg);
}

/* "" would be in none of them, or have no name. */
static int set_places(const char **dst, const char *option, const char *arg)
{
	if (!arg[strspn(arg, ",")]) {
		pr_err("%s takes names, with commas between, not '%s'", option, arg);
		return -EINVAL;
	}
	*dst = arg;
	return 0;
}

static int set_dsos(void *dst, const char *arg)
{
	return set_places(dst, "--dsos", arg);
}

static int set_symbols(void *dst, const char *arg)
{
	return set_places(dst, "--symbols", arg);
}

static int set_separator(void *dst, const char *arg)
{
	if (!arg[0] || arg[1] || *arg == '.') {
		pr_err("'%s' is no separator: -t takes one character, not '.'", arg);
		return -EINVAL;
	}
	*(char *)dst = *arg;
	return 0;
}

static int set_stdio_color(void *dst, const char *arg)
{
	(void)dst;
	if (!strcmp(arg, "never"))
		setenv("NO_COLOR", "1", 1);
	return 0;
}

/* perf's columns of counts are here anyway: the others are sort keys. */
static int set_sort(void *dst, const char *arg)
{
	static const char *const counts[] = { "overhead", "overhead_children", "sample", "samples", "period" };
	struct report_opts *o = dst;
	struct strbuf keys = STRBUF_INIT;

	if (!*arg)
		return sortkeys_parse(arg, &o->table.sort);
	for (;; arg++) {
		size_t len = strcspn(arg, ","), k = 0;

		while (k < ARRAY_SIZE(counts) && (strlen(counts[k]) != len || memcmp(counts[k], arg, len)))
			k++;
		if (k == ARRAY_SIZE(counts)) {
			strbuf_adds(&keys, keys.len ? "," : "");
			strbuf_add(&keys, arg, len);
		}
		arg += len;
		if (!*arg)
			break;
	}
	free(o->sort);
	/* Nothing but counts: the default keys. */
	o->sort = keys.len ? keys.s : NULL;
	if (!keys.len)
		strbuf_fini(&keys);
	return 0;
}

/* perf's columns, of which one is what functions called have. */
static int set_fields(void *dst, const char *arg)
{
	struct report_opts *o = dst;

	o->table.children = strstr(arg, "overhead_children") != NULL;
	return set_sort(dst, arg);
}

/* What perf puts behind -g, in any order: how, from where on, what stands in front. */
static int chain_word(struct report_opts *o, const char *word, size_t len, unsigned int *numbers)
{
	static const struct {
		const char *word;
		int tree, folded, callee, value;	/* -1: says nothing of it */
	} words[] = {
		{ "none", 0, 0, -1, -1 }, { "graph", 1, 0, -1, -1 }, { "flat", 1, 0, -1, -1 },
		{ "fractal", 1, 0, -1, -1 }, { "folded", 0, 1, -1, -1 }, { "caller", -1, -1, 0, -1 },
		{ "callee", -1, -1, 1, -1 }, { "function", -1, -1, -1, -1 }, { "address", -1, -1, -1, -1 },
		{ "branch", -1, -1, -1, -1 }, { "percent", -1, -1, -1, CHAINS_PERCENT },
		{ "count", -1, -1, -1, CHAINS_COUNT }, { "period", -1, -1, -1, CHAINS_PERIOD },
	};
	char *end;
	double v;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) != len || memcmp(words[i].word, word, len))
			continue;
		o->tree = words[i].tree < 0 ? o->tree : words[i].tree;
		o->folded = words[i].folded < 0 ? o->folded : words[i].folded;
		o->chains.callee = words[i].callee < 0 ? o->chains.callee : words[i].callee;
		o->chains.value = words[i].value < 0 ? o->chains.value : (enum chains_value)words[i].value;
		return 0;
	}
	v = strtod(word, &end);
	if (!len || end != word + len || !(v >= 0))
		return -EINVAL;
	/* The second one is how many entries at most. */
	if (!(*numbers)++)
		o->chains.percent_limit = v;
	return 0;
}

static int parse_chains(struct report_opts *o, const char *arg)
{
	unsigned int numbers = 0;

	for (size_t len;; arg += len + 1) {
		len = strcspn(arg, ",");
		if (chain_word(o, arg, len, &numbers))
			return -EINVAL;
		if (!arg[len])
			return 0;
	}
}

static int set_callgraph(void *dst, const char *arg)
{
	struct report_opts *o = dst;

	o->tree = true;
	o->folded = false;
	if (!arg || !parse_chains(o, arg))
		return 0;
	pr_err("'%s' is no call graph: -g takes none, graph, folded, caller, callee, percent, count, period and a number, "
	       "with commas", arg);
	return -EINVAL;
}

/* As perf, "-g WORD" takes the word behind it, but only one that is about call graphs: it may be a file. */
static void join_callgraph(int argc, char **argv)
{
	struct report_opts unused = { 0 };

	for (int i = 1; i + 1 < argc && strcmp(argv[i], "--"); i++) {
		if (strcmp(argv[i], "-g") && strcmp(argv[i], "--call-graph"))
			continue;
		if (parse_chains(&unused, argv[i + 1]))
			continue;
		argv[i + 1] = xasprintf("--call-graph=%s", argv[i + 1]);
	}
}

static void write_html(const struct report_in *in, FILE *to)
{
	const struct report_opts *o = in->opts;
	const struct html_opts html = {
		.title = o->title ? o->title : "Flame graph", .lead = &o->lead, .period = o->period,
		.note = in->header.interrupted ? "interrupted: a part of the samples, or of the names" : NULL,
	};

	html_write(in->profile, NULL, &html, to);
}

static void write_svg(const struct report_in *in, FILE *to)
{
	const struct report_opts *o = in->opts;
	struct strbuf sub = STRBUF_INIT;
	struct svg_opts svg = {
		.title = o->title ? o->title : "Flame graph", .unit = header_unit(&in->header),
		.width = (unsigned int)o->width, .min_width = 0.1,
	};
	struct calltree *t = calltree_of(in->profile, &o->lead, o->period, svg_least(&svg));

	header_subtitle(&in->header, &sub);
	svg.subtitle = sub.s;
	svg_write(t, &svg, to);
	strbuf_fini(&sub);
	calltree_free(t);
}

static void put_grid(const struct report_in *in, const struct grid *g, FILE *to)
{
	if (in->opts->separator)
		grid_separated(g, in->opts->separator, to);
	else
		grid_text(g, in->color, to);
}

/* CSV has no place for it. */
static void warn_hidden(uint64_t rows)
{
	if (rows)
		pr_warn("%" PRIu64 " more %s left out: --limit 0 --percent-limit 0 gives all", rows, plural_of(rows, "row is", "rows are"));
}

/* @g as the format has it, but for @hidden rows; @name: its key in JSON. */
static void write_grid(const struct report_in *in, const struct grid *g, const char *name, uint64_t hidden, FILE *to)
{
	struct json *j;

	if (in->opts->kind == FORMAT_CSV) {
		grid_csv(g, to);
		warn_hidden(hidden);
	} else if (in->opts->kind == FORMAT_JSON) {
		j = json_new(to);
		json_begin_object(j, NULL);
		header_json(&in->header, j);
		json_u64(j, "hidden", hidden);
		grid_json(g, j, name);
		json_end_object(j);
		json_free(j);
	} else {
		header_text(&in->header, to);
		put_grid(in, g, to);
	}
}

static void tell_hidden(uint64_t rows, FILE *to)
{
	if (rows)
		fprintf(to, "# and %" PRIu64 " more: --limit 0 --percent-limit 0 shows all\n", rows);
}

static void write_chains(const struct report_in *in, FILE *to)
{
	header_text(&in->header, to);
	tell_hidden(chains_text(in->profile, &in->opts->table, &in->opts->chains, in->opts->separator, in->color, to), to);
}

/* perf's form, of the records that a profile has: samples. */
static void write_stats(const struct report_in *in, FILE *to)
{
	const struct profile *p = in->profile;
	const char *event = profile_meta(p, "event"), *modifier = profile_meta(p, "event_modifier");
	const char *lost = profile_meta(p, "lost");

	fprintf(to, "\nAggregated stats:\n%16s events: %10" PRIu64 "\n%16s events: %10s\n", "SAMPLE", p->samples, "LOST",
		lost ? lost : "0");
	fprintf(to, "%s%s%s stats:\n%16s events: %10" PRIu64 "\n", event ? event : "all", modifier ? ":" : "", modifier ? modifier : "",
		"SAMPLE", p->samples);
}

static void write_flat(const struct report_in *in, FILE *to)
{
	struct groups gs = { 0 };
	struct grid g;
	uint64_t hidden = table_flat(in->profile, &in->opts->table, &gs, &g);

	write_grid(in, &g, "rows", hidden, to);
	if (in->opts->kind == FORMAT_TEXT)
		tell_hidden(hidden, to);
	grid_fini(&g);
	groups_fini(&gs);
}

static void write_tree(const struct report_in *in, FILE *to)
{
	struct grid g;

	if (in->opts->kind == FORMAT_TEXT) {
		header_text(&in->header, to);
		table_tree_text(in->tree, &in->opts->table, in->color, to);
		return;
	}
	table_tree(in->tree, &in->opts->table, &g);
	/* All but the root. */
	write_grid(in, &g, "tree", in->tree->n - 1 - g.nrows, to);
	grid_fini(&g);
}

static void focus_json(const struct report_in *in, const struct table_focus *f, FILE *to)
{
	struct json *j = json_new(to);

	json_begin_object(j, NULL);
	header_json(&in->header, j);
	json_str(j, "focus", in->opts->focus);
	json_u64(j, "focus_total", f->total);
	json_u64(j, "focus_self", f->self);
	json_u64(j, "hidden", f->hidden);
	grid_json(&f->callers, j, "callers");
	grid_json(&f->callees, j, "callees");
	json_end_object(j);
	json_free(j);
}

static void focus_csv(const struct table_focus *f, FILE *to)
{
	const struct grid *both[] = { &f->callers, &f->callees };

	fputs("side,share,count,symbol,kind\n", to);
	for (size_t k = 0; k < ARRAY_SIZE(both); k++)
		grid_csv_rows(both[k], k ? "callee" : "caller", to);
	warn_hidden(f->hidden);
}

static void focus_text(const struct report_in *in, const struct table_focus *f, FILE *to)
{
	double all = f->all ? (double)f->all : 1;
	struct strbuf name = STRBUF_INIT;

	header_text(&in->header, to);
	strbuf_add_clean(&name, in->opts->focus);
	fprintf(to, "# '%s'", name.s ? name.s : "");
	if (f->functions > 1)
		fprintf(to, " (%" PRIu32 " functions)", f->functions);
	strbuf_reset(&name);
	header_add_amount(&in->header, f->total, &name);
	fprintf(to, ": in %.2f%% of all stacks, itself %.2f%%; shares are of its %s\n#\n# callers:\n", 100 * (double)f->total / all,
		100 * (double)f->self / all, name.s);
	put_grid(in, &f->callers, to);
	fputs("\n# callees:\n", to);
	put_grid(in, &f->callees, to);
	tell_hidden(f->hidden, to);
	strbuf_fini(&name);
}

static void write_focus(const struct report_in *in, const struct table_focus *f, FILE *to)
{
	if (in->opts->kind == FORMAT_JSON)
		focus_json(in, f, to);
	else if (in->opts->kind == FORMAT_CSV)
		focus_csv(f, to);
	else
		focus_text(in, f, to);
}

/* @in without what is made of the profile; consumes @out. 0 or negative errno after a message. */
static int report_write(struct report_in *in, struct outfile *out)
{
	const struct report_opts *o = in->opts;
	struct table_focus focus;
	bool paged = o->kind == FORMAT_TEXT && (!o->output || !strcmp(o->output, "-"));
	pid_t pager;
	int err = 0;

	if (o->focus && table_focus(in->profile, &o->table, o->focus, &focus)) {
		outfile_abort(out);
		return -ENOENT;
	}
	/* Other tables have groups of their own. */
	in->tree = o->tree ? calltree_of(in->profile, &o->lead, o->period, 0) : NULL;
	in->color = paged && pager_color();
	pager = paged ? pager_start() : 0;
	if (o->kind == FORMAT_SVG)
		write_svg(in, outfile_stream(out));
	else if (o->kind == FORMAT_HTML)
		write_html(in, outfile_stream(out));
	else if (o->header_only)
		header_text(&in->header, outfile_stream(out));
	else if (o->stats)
		write_stats(in, outfile_stream(out));
	else if (o->folded)
		write_chains(in, outfile_stream(out));
	else if (o->focus)
		write_focus(in, &focus, outfile_stream(out));
	else if (o->tree)
		write_tree(in, outfile_stream(out));
	else
		write_flat(in, outfile_stream(out));
	pager_end(pager);
	/* What was left of the text when the pager went is not missed. */
	if (pager)
		outfile_abort(out);
	else
		err = outfile_close(out);
	calltree_free(in->tree);
	if (o->focus)
		table_focus_fini(&focus);
	return err;
}

static int check_format(struct report_opts *o)
{
	static const char *const names[] = {
		[FORMAT_TEXT] = "text", [FORMAT_CSV] = "csv", [FORMAT_JSON] = "json", [FORMAT_HTML] = "html",
		[FORMAT_SVG] = "svg",
	};
	size_t k = 0;

	if (o->csv || o->json)
		o->format = o->csv ? "csv" : "json";
	while (k < ARRAY_SIZE(names) && strcmp(o->format, names[k]))
		k++;
	if (k == ARRAY_SIZE(names)) {
		pr_err("unknown format '%s': --format takes text, csv, json, html or svg", o->format);
		return -EINVAL;
	}
	o->kind = (enum report_format)k;
	if ((o->kind == FORMAT_HTML && !outfile_check_terminal(o->output, "--format html", "a page for a browser")) ||
	    (o->kind == FORMAT_SVG && !outfile_check_terminal(o->output, "--format svg", "a picture")))
		return -EINVAL;
	if (o->kind >= FORMAT_HTML && (o->tree || o->focus)) {
		pr_err("%s is for tables, and --format %s is a picture of all", o->tree ? "--call-graph" : "--focus",
		       o->format);
		return -EINVAL;
	}
	if ((o->tree || o->folded) && o->focus) {
		pr_err("either --call-graph or --focus");
		return -EINVAL;
	}
	if ((o->folded || o->stats || o->header_only || o->separator) && o->kind != FORMAT_TEXT) {
		pr_err("%s is for text", o->folded ? "-g folded" : o->stats ? "--stats" : o->header_only ? "--header-only" : "-t");
		return -EINVAL;
	}
	if (o->tree && o->separator) {
		pr_err("-t is for tables; --csv has the columns of the call tree");
		return -EINVAL;
	}
	if (o->tree && o->chains.callee) {
		pr_err("-g callee: the tree begins with the callers; -g folded,callee has stacks from the leaf on, and --focus NAME "
		       "who calls one function");
		return -EINVAL;
	}
	/* Its limit is that of the tree; of folded stacks it is their own. */
	if (o->tree && o->chains.percent_limit >= 0 && o->table.percent_limit < 0)
		o->table.percent_limit = o->chains.percent_limit;
	if (o->chains.percent_limit < 0)
		o->chains.percent_limit = 0.5;
	return 0;
}

static int check_opts(struct report_opts *o)
{
	if (check_format(o) || load_check_filters(&o->load))
		return -EINVAL;
	if (o->width < 300 || o->width > 20000) {
		pr_err("--width %" PRIu64 " is out of range: 300 to 20000", o->width);
		return -EINVAL;
	}
	if (lead_parse(o->by, &o->lead)) {
		pr_err("--by '%s' is not a list of comm, process, thread, container, none, each at most once", o->by);
		return -EINVAL;
	}
	if (o->sort && sortkeys_parse(o->sort, &o->table.sort))
		return -EINVAL;
	o->load.srcline = o->sort && sortkeys_have(&o->table.sort, SORT_SRCLINE);
	o->load.raw_names = !o->demangle;
	/* Folded stacks are read by programs, which take them for all there is. */
	if (o->table.limit == LIMIT_UNSET)
		o->table.limit = o->tree || o->folded ? 0 : 50;
	if (o->table.percent_limit < 0)
		o->table.percent_limit = o->tree ? 0.5 : o->folded ? 0 : 0.1;
	return 0;
}

static int parse(int argc, char **argv, struct report_opts *o)
{
	const struct opt opts[] = {
		{ "input", 'i', "FILE", "recording, saved profile or folded text; '-' is standard input (default: that if it is a pipe, else nsprof.data)",
		  OPT_STR, &o->input, NULL },
		{ "event", 0, "NAME", REC_READER_EVENT_HELP, OPT_STR, &o->load.event, NULL },
		{ "output", 'o', "FILE", "write here instead of standard output", OPT_STR, &o->output, NULL },
		{ "format", 0, "FORMAT", "text (the default), csv, json, html (flame graph as a page) or svg (as a picture)", OPT_STR, &o->format, NULL },
		{ "csv", 0, NULL, "the table as CSV", OPT_FLAG, &o->csv, NULL },
		{ "json", 0, NULL, "the table as JSON, and what is known of the recording", OPT_FLAG, &o->json, NULL },
		{ "sort", 's', "KEYS", "a row for each: symbol (sym), dso, srcline, comm, pid, tid, container, cgroup, or several with "
		  "commas (default comm,dso,symbol; symbol of folded text)", OPT_CALL, o, set_sort },
		{ "fields", 'F', "KEYS", NULL, OPT_CALL, o, set_fields },
		{ "children", 0, NULL, "count what functions call, too, and sort by it (default; --no-children: only what is "
		  "their own)", OPT_FLAG, &o->table.children, NULL },
		{ "focus", 0, "NAME", "the callers and callees of this function (name or glob)", OPT_STR, &o->focus, NULL },
		{ "call-graph", 'g', "[WORDS]", "the call tree from the root, small branches folded; perf's words with commas: "
		  "none, graph, folded (the stacks of each row, as text), caller, callee, percent, count, period, a number: "
		  "the least share", OPT_CALL, o, set_callgraph },
		{ "inverted", 'G', NULL, NULL, OPT_FLAG, &o->tree, NULL },
		{ "tree", 0, NULL, "the same as --call-graph", OPT_FLAG, &o->tree, NULL },
		{ "show-nr-samples", 'n', NULL, "of -g folded: each row tells how many samples it has (tables do)", OPT_FLAG,
		  &o->chains.samples, NULL },
		{ "field-separator", 't', "CHAR", "CHAR between the columns, and no blanks", OPT_CALL, &o->separator,
		  set_separator },
		{ "stats", 0, NULL, "how many samples there are", OPT_FLAG, &o->stats, NULL },
		{ "header-only", 0, NULL, "only what stands above the table", OPT_FLAG, &o->header_only, NULL },
		{ "limit", 0, "N", "at most N rows, 0 for all (default 50; of the call tree and -g folded all)", OPT_U64, &o->table.limit, NULL },
		{ "percent-limit", 0, "P", "leave out what has less than P per cent of the samples (default 0.1; of the call "
		  "tree 0.5, of -g folded 0)", OPT_CALL, &o->table.percent_limit, set_percent },
		{ "by", 0, "LIST", "frames in front of the stacks of call tree and flame graph: container, process, thread, comm, none, or several "
		  "with commas (default comm)", OPT_STR, &o->by, NULL },
		{ "filter", 0, "KEY=VALUE", "only samples with this container, cgroup, comm (globs), pid, nspid, tid, or "
		  "time=FROM-TO (seconds); all keys must fit, of one key any", OPT_CALL, o, add_filter },
		{ "comms", 'c', "COMM,...", "only samples of these, as --filter comm=", OPT_CALL, o, pass_comms },
		{ "pid", 0, "PID,...", "the same of these processes", OPT_CALL, o, pass_pid },
		{ "tid", 0, "TID,...", "the same of these threads", OPT_CALL, o, pass_tid },
		{ "time", 0, "FROM,TO", "only samples of this time, in seconds as nsprof script shows them, or a part: 10%/2, 0%-20%", OPT_CALL, o,
		  pass_time },
		{ "dsos", 'd', "FILE,...", "only samples in code of these: paths as mapped or their last parts, or globs", OPT_CALL,
		  &o->load.dsos, set_dsos },
		{ "symbols", 'S', "NAME,...", "only samples in these functions themselves (names or globs)", OPT_CALL,
		  &o->load.symbols, set_symbols },
		{ "max-stack", 0, "N", "frames kept of a stack, from the leaf (at most 65536)", OPT_CALL, &o->load.max_stack,
		  maxstack_parse },
		{ "demangle", 0, NULL, "names as in the source (default; --no-demangle: raw)", OPT_FLAG, &o->demangle, NULL },
		{ "stdio-color", 0, "WHEN", NULL, OPT_CALL, NULL, set_stdio_color },
		{ "merge-threads", 0, NULL, "one name for threads that differ by numbers: worker-N", OPT_FLAG,
		  &o->load.merge_threads, NULL },
		{ "weight", 0, "W", "count samples or period (default: period if it varies, else samples)", OPT_CALL, &o->weight, set_weight },
		{ "no-inline", 0, NULL, "leave inlined functions out", OPT_FLAG, &o->load.no_inline, NULL },
		{ "title", 0, "TEXT", "title of the flame graph", OPT_STR, &o->title, NULL },
		{ "width", 0, "PIXELS", "width of the flame graph, 300 to 20000 (default 1200)", OPT_U64, &o->width, NULL },
		{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &o->load.quiet, NULL },
		{ "verbose", 'v', NULL, "say more", OPT_COUNT, &o->verbose, NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o->build_info, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof report [options] [FILE]",
		.summary = "Shows a recording, a saved profile, or the folded stacks of any tool: what has how much of it, the callers "
			   "and callees of a function, the call tree, or a flame graph as one SVG file.",
		.epilog = "Examples:\n"
			  "  nsprof report --sort container,symbol --no-children\n"
			  "  nsprof report --focus 'parse_*' before.profile\n"
			  "\n"
			  "On a terminal it goes through $NSPROF_PAGER, $PAGER or less, with colors unless $NO_COLOR.\n"
			  "\n"
			  "Exit status: 0 done; 1 failed, interrupted, or the input is damaged (what was read is\n"
			  "shown); 129 usage.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
	};
	int first, err;

	join_callgraph(argc, argv);
	err = opt_parse(&spec, argc, argv, &first);

	if (err || o->build_info)
		return err;
	if (argc - first > 1 || (o->input && argc > first)) {
		pr_err("one input at a time: '%s' is one too many; see --help", argv[argc - 1]);
		return -EINVAL;
	}
	o->load.path = o->input ? o->input : argc > first ? argv[first] : rec_reader_default();
	return check_opts(o);
}

static int report(struct report_opts *o)
{
	struct report_in in = { .opts = o };
	struct profile *profile;
	struct outfile *out;
	struct load_info info;
	int err = load_check_input(o->load.path);

	if (err)
		return EXIT_FAILURE;
	/* Before the work, so that a path that cannot be written is known at once. */
	out = outfile_open(o->output);
	if (!out)
		return EXIT_FAILURE;
	err = load(&o->load, &profile, &info);
	if (err) {
		outfile_abort(out);
		return EXIT_FAILURE;
	}
	if (!o->sort)
		sortkeys_parse(info.folded ? "symbol" : "comm,dso,symbol", &o->table.sort);
	o->period = o->weight == WEIGHT_PERIOD || (o->weight == WEIGHT_BEST && profile_by_period(profile));
	o->table.period = o->period;
	in.profile = profile;
	in.header = (struct header){
		.profile = profile, .path = o->load.path, .period = o->period, .interrupted = info.interrupted,
	};
	err = report_write(&in, out);
	profile_free(profile);
	return err || info.damaged || info.interrupted ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct report_opts o = {
		.format = "text", .by = "comm", .width = 1200,
		.table = { .children = true, .limit = LIMIT_UNSET, .percent_limit = -1 },
		.chains = { .percent_limit = -1 }, .demangle = true,
	};
	int err;

	pages_heap(pages_are_slow());
	log_init("nsprof report");
	signals_init();
	err = parse(argc, argv, &o);
	if (err) {
		err = err == OPT_HELP ? EXIT_SUCCESS : EXIT_USAGE;
	} else if (o.build_info) {
		puts("report: text csv json html svg");
	} else {
		log_set_verbosity(o.load.quiet ? -1 : o.verbose);
		err = report(&o);
	}
	free(o.load.filters);
	free(o.load.lists);
	free(o.sort);
	return err;
}
