/* nsprof report: tables and a flame graph of a profile. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "cli/opt.h"
#include "cli/pager.h"
#include "cmd/report_options.h"
#include "grid/grid.h"
#include "grid/report_header.h"
#include "host/pages.h"
#include "host/parser.h"
#include "input/load.h"
#include "input/source.h"
#include "pictures/html.h"
#include "pictures/svg.h"
#include "profile/profile.h"
#include "views/calltree.h"
#include "views/sortkeys.h"
#include "views/table.h"
#include "views/table_chains.h"

/* The input of all outputs. */
struct report_in {
	const struct report_opts *opts;
	const struct profile *profile;
	struct calltree *tree;	/* NULL: not needed */
	struct header header;
	bool color;
};

static void write_html(const struct report_in *in, FILE *to)
{
	const struct report_opts *o = in->opts;
	const struct html_opts html = {
		.title = o->title ? o->title : "Flame graph", .lead = &o->lead, .period = o->period,
		.note = in->header.interrupted ? "interrupted: some samples or names are missing" : NULL,
	};

	html_write(in->profile, NULL, &html, to);
}

static void write_svg(const struct report_in *in, FILE *to)
{
	const struct report_opts *o = in->opts;
	const char *event = profile_meta(in->profile, "event"), *of = event ? profile_time_of(event, profile_meta(in->profile, "event_unit")) : NULL;
	struct strbuf sub = STRBUF_INIT;
	struct svg_opts svg = {
		.title = o->title ? o->title : "Flame graph", .unit = header_unit(&in->header),
		.of = of && strcmp(of, "of CPU time") != 0 ? of : "of CPU",
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

/* CSV has no place for this. */
static void warn_hidden(uint64_t rows)
{
	if (rows)
		pr_warn("%" PRIu64 " more %s left out: --limit 0 --percent-limit 0 gives all", rows, plural_of(rows, "row is", "rows are"));
}

/* Writes @g in the format, plus the number of @hidden rows; @name: its key in JSON. */
static void write_grid(const struct report_in *in, const struct grid *g, const char *name, uint64_t hidden, FILE *to)
{
	struct json *j;

	if (in->opts->kind == REPORT_FORMAT_CSV) {
		grid_csv(g, to);
		warn_hidden(hidden);
	} else if (in->opts->kind == REPORT_FORMAT_JSON) {
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

/* Writes perf's form with the only records that a profile has: samples. */
static void write_stats(const struct report_in *in, FILE *to)
{
	const struct profile *p = in->profile;
	const char *lost = profile_meta(p, "lost");
	struct strbuf name = STRBUF_INIT;

	fprintf(to, "\nAggregated stats:\n%16s events: %10" PRIu64 "\n%16s events: %10s\n", "SAMPLE", p->samples, "LOST",
		lost ? lost : "0");
	for (uint32_t i = 0; i < MAX(p->nevents, 1u); i++) {
		strbuf_reset(&name);
		profile_event_text(p, i, &name);
		fprintf(to, "%s stats:\n%16s events: %10" PRIu64 "\n", name.len ? name.s : "all", "SAMPLE",
			p->nevents ? p->events[i].samples : p->samples);
	}
	strbuf_fini(&name);
}

/* As many events as fit the width of a screen, more or less. */
#define TABLE_EVENTS 6u

static void tell_columns(const struct report_in *in, FILE *to)
{
	if (in->profile->nevents > in->opts->table.events_max)
		fprintf(to, "# columns of the first %" PRIu32 " of %" PRIu32 " events: --event NAME shows another one, --csv all\n",
			in->opts->table.events_max, in->profile->nevents);
}

static void write_flat(const struct report_in *in, FILE *to)
{
	struct groups gs = { 0 };
	struct grid g;
	uint64_t hidden = table_flat(in->profile, &in->opts->table, &gs, &g);

	write_grid(in, &g, "rows", hidden, to);
	if (in->opts->kind == REPORT_FORMAT_TEXT) {
		tell_hidden(hidden, to);
		tell_columns(in, to);
	}
	grid_fini(&g);
	groups_fini(&gs);
}

static void write_tree(const struct report_in *in, FILE *to)
{
	struct grid g;

	if (in->opts->kind == REPORT_FORMAT_TEXT) {
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
	escape_text(&name, in->opts->focus);
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
	if (in->opts->kind == REPORT_FORMAT_JSON)
		focus_json(in, f, to);
	else if (in->opts->kind == REPORT_FORMAT_CSV)
		focus_csv(f, to);
	else
		focus_text(in, f, to);
}

/*
 * Writes the report; fills what @in derives from the profile. Consumes @out. 0, or negative errno
 * after a message.
 */
static int report_write(struct report_in *in, struct outfile *out)
{
	const struct report_opts *o = in->opts;
	struct table_focus focus;
	bool paged = o->kind == REPORT_FORMAT_TEXT && (!o->output || !strcmp(o->output, "-"));
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
	if (o->kind == REPORT_FORMAT_SVG)
		write_svg(in, outfile_stream(out));
	else if (o->kind == REPORT_FORMAT_HTML)
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
	/* If the pager quit early, the rest of the text is dropped without an error. */
	if (pager)
		outfile_abort(out);
	else
		err = outfile_close(out);
	calltree_free(in->tree);
	if (o->focus)
		table_focus_fini(&focus);
	return err;
}

/* Does the output tell events apart? */
static bool shows_events(const struct report_opts *o)
{
	const bool pictured = o->tree || o->kind == REPORT_FORMAT_SVG;

	if (pictured)
		return lead_has(&o->lead, LEAD_EVENT);
	return !o->focus && !o->folded;
}

/* The first event that has samples with fields; 0 if there is none. */
static uint32_t event_with_fields(const struct profile *p)
{
	/* Counts are sorted by event. */
	for (size_t i = 0; i < p->ncounts; i++)
		if (p->threads[p->counts[i].thread].fields)
			return p->counts[i].event;
	return 0;
}

/* Returns @p, or the part of it that is shown. Sets what each of several events is weighed by. */
static struct profile *choose_events(struct report_opts *o, struct profile *p)
{
	const bool pictured = o->tree || o->kind == REPORT_FORMAT_SVG;

	p = profile_skip_unused(p);
	if (p->nevents && !shows_events(o)) {
		const uint32_t at = o->load.fields ? event_with_fields(p) : (uint32_t)profile_pick(p, NULL, "");

		profile_pick_tell(p, at, load_shown(o->load.path), pictured ? "; --by event shows all" : "");
		p = profile_only(p, at);
	}
	for (uint32_t i = 0; i < p->nevents; i++) {
		if (o->weight != REPORT_WEIGHT_BEST)
			p->events[i].by_period = o->weight == REPORT_WEIGHT_PERIOD;
		o->table.mixed |= p->events[i].by_period;
	}
	return p;
}

/* Says what to use instead if the output has no place for leading frames. */
static void tell_unused_by(const struct report_opts *o)
{
	const char *instead = "--sort groups the rows of a table";

	if (!o->by || !o->lead.n || o->tree || o->kind >= REPORT_FORMAT_HTML)
		return;
	if (lead_has(&o->lead, LEAD_STATE))
		instead = "a table has a column for each state";
	else if (lead_has(&o->lead, LEAD_EVENT))
		instead = "a table has columns for each event";
	pr_warn("--by %s is ignored: it is for the call tree (-g) and the flame graph (--format html or svg); %s", o->by, instead);
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
	tell_unused_by(o);
	/* Open it first, so that an unwritable path is reported before the work. */
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
	profile = choose_events(o, profile);
	o->period = o->weight == REPORT_WEIGHT_PERIOD || (o->weight == REPORT_WEIGHT_BEST && profile_by_period(profile));
	/* Each of several events has its own unit. */
	o->period = o->period && !profile->nevents;
	o->table.period = o->period;
	o->table.events_max = o->kind == REPORT_FORMAT_TEXT ? TABLE_EVENTS : 0;
	o->table.waits = !profile->nevents && profile_has_waits(profile_meta(profile, "event"));
	in.profile = profile;
	in.header = (struct header){
		.profile = profile, .path = o->load.path, .period = o->period, .interrupted = info.interrupted,
	};
	err = report_write(&in, out);
	profile_free(profile);
	return err || info.damaged || info.interrupted ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int parse(void *ctx)
{
	return report(ctx);
}

static int serve(void *ctx, uint32_t kind, int *value, const char *text, int *fd)
{
	const struct report_opts *o = ctx;
	const struct source_served s = { &o->load.path, 1, &o->load };
	const int err = pager_serve(kind, value, fd);

	return err == -ENOSYS ? source_serve(&s, kind, value, text, fd) : err;
}

static int confined(struct report_opts *o)
{
	const struct parser p = {
		.output = o->output && strcmp(o->output, "-") ? o->output : NULL, .no_files = true, .input = "the input",
		.serve = serve, .ctx = o,
	};
	int status;

	if (o->load.no_sandbox) {
		pr_warn("--no-sandbox: the input is read with all rights");
		return report(o);
	}
	status = parser_run(&p, parse, o);
	pager_serve_end();
	return status;
}

int main(int argc, char **argv)
{
	struct report_opts o = {
		.format = "text", .width = 1200,
		.table = { .children = true, .limit = REPORT_LIMIT_UNSET, .percent_limit = -1 },
		.chains = { .percent_limit = -1 }, .demangle = true,
	};
	int err;

	pages_heap(pages_are_slow());
	log_init("nsprof report");
	signals_init();
	err = report_options_parse(&o, argc, argv);
	if (err) {
		err = err == OPT_HELP ? EXIT_SUCCESS : EXIT_USAGE;
	} else if (o.build_info) {
		puts("report: text csv json html svg");
	} else {
		log_set_verbosity(o.load.quiet ? -1 : o.verbose);
		err = confined(&o);
	}
	report_options_fini(&o);
	return err;
}
