/* nsprof diff: what changed between two profiles, and whether that is more than chance. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diff.h"
#include "diff_fit.h"
#include "diff_gate.h"
#include "diff_page.h"
#include "diff_tree.h"
#include "diff_view.h"
#include "folded_comms.h"
#include "load.h"
#include "log.h"
#include "opt.h"
#include "rec_reader.h"
#include "outfile.h"
#include "pages.h"
#include "perf_opts.h"
#include "profile.h"
#include "signals.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

enum { EXIT_CHANGED = 1, EXIT_UNCLEAR = 2, EXIT_ERROR = 3 };

enum format { FORMAT_TEXT, FORMAT_MD, FORMAT_JSON, FORMAT_CSV, FORMAT_FOLDED, FORMAT_SVG, FORMAT_HTML };
static const char *const formats[] = {
	[FORMAT_TEXT] = "text", [FORMAT_MD] = "md", [FORMAT_JSON] = "json", [FORMAT_CSV] = "csv", [FORMAT_FOLDED] = "folded",
	[FORMAT_SVG] = "svg", [FORMAT_HTML] = "html",
};

struct diff_cmd {
	struct diff_opts diff;
	struct load_opts load;
	size_t filters_cap;
	enum format format;
	const char *output, *scale, *title;
	enum { WEIGHT_BEST, WEIGHT_SAMPLES, WEIGHT_PERIOD } weight;
	struct diff_gate *gates;	/* owned */
	size_t ngates, gates_cap;
	struct diff_input *in;		/* owned, with the profiles */
	struct profile **profiles;	/* owned: in[i].profile */
	size_t nin;
	uint64_t limit;
	double percent_limit;
	bool normalize, aa, force, build_info, damaged;
	int verbose;
};

/* ---- options ---- */

static int set_format(void *dst, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(arg, formats[i])) {
			*(enum format *)dst = (enum format)i;
			return 0;
		}
	pr_err("unknown format '%s': --format takes text, md, json, csv, folded, svg or html", arg);
	return -EINVAL;
}

/* A number from 0 to @max, with or without "%". */
static int set_percent(double *dst, const char *arg, double max, const char *option)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(v >= 0 && v <= max)) {
		pr_err("'%s' is out of range: %s takes a number from 0 to %g", arg, option, max);
		return -EINVAL;
	}
	*dst = v;
	return 0;
}

static int set_percent_limit(void *dst, const char *arg)
{
	return set_percent(dst, arg, 100, "--percent-limit");
}

static int set_run_noise(void *dst, const char *arg)
{
	int err = set_percent(dst, arg, 100, "--run-noise");

	*(double *)dst /= 100;
	return err;
}

static int set_alpha(void *dst, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0.001 && v <= 0.5)) {
		pr_err("'%s' is out of range: --alpha takes a rate of false alarms from 0.001 to 0.5", arg);
		return -EINVAL;
	}
	*(double *)dst = v;
	return 0;
}

static int set_weight(void *dst, const char *arg)
{
	struct diff_cmd *c = dst;

	if (strcmp(arg, "samples") && strcmp(arg, "period")) {
		pr_err("unknown weight '%s': --weight takes samples or period", arg);
		return -EINVAL;
	}
	c->weight = strcmp(arg, "period") ? WEIGHT_SAMPLES : WEIGHT_PERIOD;
	return 0;
}

static int set_per(void *dst, const char *arg)
{
	if (strcmp(arg, "total") && strcmp(arg, "second")) {
		pr_err("unknown '%s': --per takes total or second; --scale is for other units", arg);
		return -EINVAL;
	}
	*(enum diff_per *)dst = strcmp(arg, "second") ? DIFF_PER_TOTAL : DIFF_PER_SECOND;
	return 0;
}

static int add_filter(void *dst, const char *arg)
{
	struct diff_cmd *c = dst;

	XGROW(c->load.filters, c->load.nfilters, c->filters_cap);
	c->load.filters[c->load.nfilters++] = arg;
	return 0;
}

static int add_gate(void *dst, const char *arg)
{
	struct diff_cmd *c = dst;

	XGROW(c->gates, c->ngates, c->gates_cap);
	return diff_gate_parse(&c->gates[c->ngates++], arg);
}

static int bad_scale(const struct diff_cmd *c)
{
	pr_err("--scale '%s': expected before=N,after=N, or N:N:... with one for each file of the side", c->scale);
	return -EINVAL;
}

/* One side's numbers, at @s, up to a comma or the end: one for all its inputs, which share it evenly, or one for each. */
static int scale_side(struct diff_cmd *c, unsigned int side, const char *s, const char **rest)
{
	size_t given = 0, inputs = 0;
	double v[64];
	char *end;

	for (;; s = end + 1) {
		if (given == ARRAY_SIZE(v))
			return bad_scale(c);
		v[given] = strtod(s, &end);
		if (end == s || !(v[given] > 0) || !isfinite(v[given]))
			return bad_scale(c);
		given++;
		if (*end != ':')
			break;
	}
	for (size_t i = 0; i < c->nin; i++)
		inputs += c->in[i].side == side;
	if (given != 1 && given != inputs) {
		pr_err("--scale '%s': %zu number%s for %zu file%s", c->scale, given, plural(given), inputs, plural(inputs));
		return -EINVAL;
	}
	for (size_t i = 0, k = 0; i < c->nin; i++)
		if (c->in[i].side == side)
			c->in[i].scale = given == 1 ? v[0] / (double)inputs : v[k++];
	*rest = end;
	return 0;
}

static int set_scale(struct diff_cmd *c)
{
	static const char *const names[DIFF_SIDES] = { "before=", "after=" };
	bool have[DIFF_SIDES] = { false };
	const char *s = c->scale;
	int err;

	for (;;) {
		unsigned int side = strncmp(s, names[DIFF_BEFORE], strlen(names[DIFF_BEFORE])) ? DIFF_AFTER : DIFF_BEFORE;

		if (strncmp(s, names[side], strlen(names[side])) || have[side])
			return bad_scale(c);
		have[side] = true;
		err = scale_side(c, side, s + strlen(names[side]), &s);
		if (err)
			return err;
		if (!*s)
			break;
		if (*s++ != ',')
			return bad_scale(c);
	}
	if (!have[DIFF_BEFORE] || !have[DIFF_AFTER])
		return bad_scale(c);
	c->diff.per = DIFF_PER_UNIT;
	return 0;
}

/* ---- inputs ---- */

/* @split: how many operands stand before "--"; SIZE_MAX: there is none. */
static int name_inputs(struct diff_cmd *c, char **operands, size_t n, size_t split)
{
	static char before[] = "nsprof.data.old", after[] = "nsprof.data";
	char *last_two[] = { before, after };

	if (!n && split == SIZE_MAX) {
		operands = last_two;
		n = ARRAY_SIZE(last_two);
	}
	if (split == SIZE_MAX ? n < 2 || (n > 2 && !c->aa) : !split || split == n) {
		pr_err("expected two files, BEFORE AFTER, or several a side, BEFORE... -- AFTER...; see --help");
		return -EINVAL;
	}
	c->in = xcalloc(n, sizeof(*c->in));
	c->profiles = xcalloc(n, sizeof(struct profile *));
	c->nin = n;
	for (size_t i = 0; i < n; i++) {
		c->in[i].path = operands[i];
		/* Of several that are the same, every other one. */
		c->in[i].side = split == SIZE_MAX ? i % 2 : i >= split;
	}
	return 0;
}

/* A file that is missing, or none of ours, is told of before another one is worked on. */
static int check_inputs(const struct diff_cmd *c)
{
	int err = 0;

	for (size_t i = 0; i < c->nin && !err; i++)
		err = load_check_input(c->in[i].path);
	return err;
}

static int load_inputs(struct diff_cmd *c)
{
	bool *folded = xcalloc(c->nin, sizeof(*folded));
	int err = 0;

	for (size_t i = 0; i < c->nin && !err; i++) {
		struct load_info info;

		c->load.path = c->in[i].path;
		err = load(&c->load, &c->profiles[i], &info);
		c->damaged = c->damaged || info.damaged || info.interrupted;
		folded[i] = info.folded;
	}
	for (size_t i = 0; i < c->nin && !err; i++) {
		if (folded[i])
			c->profiles[i] = folded_comms(c->profiles[i], c->profiles, c->nin);
		c->in[i].profile = c->profiles[i];
	}
	free(folded);
	return err;
}

/* Periods say more than samples where they are known: they differ with the frequency, and with the load where events are counted. */
static void choose_weight(struct diff_cmd *c)
{
	c->diff.period = c->weight != WEIGHT_SAMPLES;
	for (size_t i = 0; c->weight == WEIGHT_BEST && i < c->nin; i++)
		c->diff.period = c->diff.period && c->profiles[i]->period;
}

/* ---- output ---- */

static int exit_status(const struct diff_cmd *c, const struct diff_view *v)
{
	int status = 0;

	for (size_t i = 0; i < c->ngates; i++) {
		if (c->gates[i].verdict == GATE_FAIL)
			return EXIT_CHANGED;
		if (c->gates[i].verdict == GATE_UNCLEAR)
			status = EXIT_UNCLEAR;
	}
	if (c->aa)
		return v->nsignificant ? EXIT_CHANGED : v->d->stat.method == DIFF_BY_COUNT ? EXIT_UNCLEAR : status;
	return status;
}

/* What forms for programs have no place for, or not where people look. */
static void say_result(const struct diff_view *v)
{
	struct strbuf line = STRBUF_INIT;

	for (size_t i = 0; i < v->ngates; i++) {
		strbuf_reset(&line);
		diff_view_gate(v, &v->gates[i], &line);
		pr_info("%s", line.s);
	}
	strbuf_reset(&line);
	diff_view_summary(v, &line);
	pr_info("%s", line.s);
	strbuf_fini(&line);
}

/* Consumes @out. */
static int write_out(const struct diff_cmd *c, struct diff_view *v, struct outfile *out)
{
	struct strbuf line = STRBUF_INIT;
	struct diff_tree *t = NULL;
	FILE *to;

	to = outfile_text(out);
	v->color = !c->output && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	switch (c->format) {
	case FORMAT_TEXT:
		diff_write_text(v, to);
		break;
	case FORMAT_MD:
		diff_write_md(v, to);
		break;
	case FORMAT_JSON:
		diff_write_json(v, to);
		break;
	case FORMAT_CSV:
		diff_write_csv(v, to);
		break;
	case FORMAT_FOLDED:
		t = diff_tree_new(c->in, c->nin, v->d);
		diff_write_folded(t, to);
		break;
	case FORMAT_SVG:
		t = diff_tree_new(c->in, c->nin, v->d);
		diff_view_summary(v, &line);
		strbuf_adds(&line, "; red is more, blue less, grey no more than chance");
		diff_write_svg(t, v->d, c->title, line.s, to);
		break;
	case FORMAT_HTML:
		strbuf_adds(&line, "Before and after: ");
		diff_view_summary(v, &line);
		diff_write_html(c->in, c->nin, v->d, c->title ? c->title : line.s, to);
		break;
	}
	diff_tree_free(t);
	strbuf_fini(&line);
	if (c->output || (c->format != FORMAT_TEXT && c->format != FORMAT_MD))
		say_result(v);
	return outfile_close(out);
}

/* Consumes @out. */
static int compare(struct diff_cmd *c, struct outfile *out)
{
	struct strbuf why = STRBUF_INIT, notes = STRBUF_INIT;
	struct diff_view v = { .aa = c->aa, .limit = c->limit, .percent_limit = c->percent_limit };
	size_t nwhy;
	int status = EXIT_ERROR;

	choose_weight(c);
	nwhy = diff_fit(c->in, c->nin, &c->diff, &why, &notes);
	for (char *line = why.s, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		if (c->force)
			strbuf_addf(&notes, "compared all the same: %s\n", line);
		else
			pr_err("cannot compare: %s", line);
	}
	if (nwhy && !c->force)
		goto out;
	v.d = diff_new(c->in, c->nin, &c->diff);
	v.in = c->in;
	v.nin = c->nin;
	v.gates = c->gates;
	v.ngates = c->ngates;
	v.notes = notes.s;
	for (size_t i = 0; i < c->ngates; i++)
		if (diff_gate_judge(&c->gates[i], v.d, c->percent_limit / 100))
			goto out_view;
	diff_view_init(&v);
	if (!write_out(c, &v, out))
		status = c->damaged ? EXIT_ERROR : exit_status(c, &v);
	out = NULL;
out_view:
	diff_view_fini(&v);
	diff_free((struct diff *)v.d);
out:
	if (out)
		outfile_abort(out);
	strbuf_fini(&why);
	strbuf_fini(&notes);
	return status;
}

static int check_options(struct diff_cmd *c)
{
	if (load_check_filters(&c->load))
		return -EINVAL;
	if ((c->format == FORMAT_SVG && !outfile_check_terminal(c->output, "--format svg", "a picture")) ||
	    (c->format == FORMAT_HTML && !outfile_check_terminal(c->output, "--format html", "a page for a browser")))
		return -EINVAL;
	if (c->scale && c->diff.per != DIFF_PER_TOTAL) {
		pr_err("--scale and --per exclude each other");
		return -EINVAL;
	}
	if (c->scale && set_scale(c))
		return -EINVAL;
	for (size_t i = 0; i < c->ngates; i++)
		if (c->gates[i].of == GATE_ALL && c->diff.per == DIFF_PER_TOTAL) {
			pr_err("--fail-on '%s': shares always sum to the same; add --scale before=N,after=N or --per second",
			       c->gates[i].text);
			return -EINVAL;
		}
	return 0;
}

static void fini(struct diff_cmd *c)
{
	for (size_t i = 0; i < c->nin; i++)
		profile_free(c->profiles[i]);
	for (size_t i = 0; i < c->ngates; i++)
		diff_gate_fini(&c->gates[i]);
	free(c->profiles);
	free(c->in);
	free(c->gates);
	free(c->load.filters);
}

static int run(struct diff_cmd *c)
{
	struct outfile *out;

	if (check_inputs(c))
		return EXIT_ERROR;
	/* Before the work, so that a path that cannot be written is known at once. */
	out = outfile_open(c->output);
	if (!out)
		return EXIT_ERROR;
	if (!load_inputs(c))
		return compare(c, out);
	outfile_abort(out);
	return EXIT_ERROR;
}

int main(int argc, char **argv)
{
	struct diff_cmd c = { .normalize = true, .limit = 40, .percent_limit = 0.1, .diff = { .alpha = 0.05, .run_noise = 0.01, .seed = 1 } };
	const struct opt opts[] = {
		{ "output", 'o', "FILE", "write here instead of standard output", OPT_STR, &c.output, NULL },
		{ "format", 0, "FORMAT", "text (default), md, json, csv, folded (for flamegraph.pl), svg, html", OPT_CALL, &c.format, set_format },
		{ "fail-on", 0, "COND", "exit status 1 when total>2%, func:REGEX>5% or self:REGEX>5% holds", OPT_CALL, &c, add_gate },
		{ "event", 0, "NAME", REC_READER_EVENT_HELP, OPT_STR, &c.load.event, NULL },
		{ "scale", 0, "COUNTS", "before=N,after=N: compare the cost of a unit of work (request)", OPT_STR, &c.scale, NULL },
		{ "per", 0, "WHAT", "compare shares of the total (default) or amounts a second", OPT_CALL, &c.diff.per, set_per },
		{ "weight", 0, "W", "samples or period (default where it is known)", OPT_CALL, &c, set_weight },
		{ "filter", 0, "KEY=VALUE", "only these samples, as nsprof report has it", OPT_CALL, &c, add_filter },
		{ "no-inline", 0, NULL, "what was inlined counts for the function it is in", OPT_FLAG, &c.load.no_inline, NULL },
		{ "normalize", 0, NULL, "names without what a rebuild changes (default; --no-normalize)", OPT_FLAG, &c.normalize, NULL },
		{ "aa", 0, NULL, "both sides are the same: exit status 1 when a change is found", OPT_FLAG, &c.aa, NULL },
		{ "alpha", 0, "RATE", "false alarms of a whole comparison (default 0.05)", OPT_CALL, &c.diff.alpha, set_alpha },
		{ "run-noise", 0, "P", "per cent by which a function's cost differs from run to run, assumed "
		  "when there is one recording per side (default 1)", OPT_CALL, &c.diff.run_noise, set_run_noise },
		{ "force", 'f', NULL, "compare what should not be compared", OPT_FLAG, &c.force, NULL },
		{ "limit", 'n', "N", "at most N functions, 0 for all (default 40)", OPT_U64, &c.limit, NULL },
		{ "percent-limit", 0, "P", "leave out unchanged functions below P per cent (default 0.1)", OPT_CALL, &c.percent_limit,
		  set_percent_limit },
		{ "title", 0, "TEXT", "title of the picture or page", OPT_STR, &c.title, NULL },
		{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &c.load.quiet, NULL },
		{ "verbose", 'v', NULL, "say more", OPT_COUNT, &c.verbose, NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &c.build_info, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof diff [options] [BEFORE AFTER | BEFORE... -- AFTER...]",
		.summary = "Says which functions changed between two sides of one or more recordings, saved profiles or "
			   "folded stacks each, by how much, and whether that is more than chance. Without any: of nsprof.data.old "
			   "and nsprof.data, the last two recordings.",
		.epilog = "Exit status: 0 done, no condition of --fail-on holds; 1 one holds, or --aa found a change;\n"
			  "2 inconclusive; 3 failed, or the two cannot be compared; 129 usage.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_diff_opts,
		.nperf = perf_diff_nopts,
	};
	size_t noperands, after = 0, split = SIZE_MAX;
	int first, err, status = EXIT_USAGE;

	pages_heap(pages_are_slow());
	log_init("nsprof diff");
	signals_init();
	for (int i = 1; i < argc && !after; i++)
		if (!strcmp(argv[i], "--"))
			after = (size_t)(argc - i);
	err = opt_parse(&spec, argc, argv, &first);
	if (err) {
		fini(&c);
		return err == OPT_HELP ? 0 : EXIT_USAGE;
	}
	if (c.build_info) {
		puts("diff: text md json csv folded svg html");
		return 0;
	}
	log_set_verbosity(c.load.quiet ? -1 : c.verbose);
	c.diff.keep_names = !c.normalize;
	noperands = (size_t)(argc - first);
	/* Where opt_parse() met the "--", it stands before the operands. */
	if (first > 1 && !strcmp(argv[first - 1], "--"))
		split = noperands - (after - 1);
	if (!name_inputs(&c, argv + first, noperands, split) && !check_options(&c))
		status = run(&c);
	fini(&c);
	return status;
}
