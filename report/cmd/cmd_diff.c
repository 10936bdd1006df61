/* nsprof diff: what changed between two profiles, and whether that is more than chance. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/opt.h"
#include "cmd/diff_options.h"
#include "diff/diff.h"
#include "diff/diff_comparable.h"
#include "diff/diff_events.h"
#include "diff/diff_gate.h"
#include "diff/diff_inlines.h"
#include "diff/diff_page.h"
#include "diff/diff_parked.h"
#include "diff/diff_tree.h"
#include "diff/diff_view.h"
#include "host/pages.h"
#include "host/parser.h"
#include "input/folded_comms.h"
#include "input/load.h"
#include "input/source.h"
#include "profile/profile.h"

enum { EXIT_CHANGED = 1, EXIT_UNCLEAR = 2, EXIT_ERROR = 3 };

static int bad_scale(const struct diff_cmd *c)
{
	pr_err("--scale '%s': expected before=N,after=N, or N:N:... with one for each file of the side", c->scale);
	return -EINVAL;
}

/*
 * Parses one side's numbers, at @s, up to a comma or the end: one for all its inputs, which share
 * it evenly, or one per input.
 */
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

/* @split: number of operands before "--"; SIZE_MAX: there is none. */
static int name_inputs(struct diff_cmd *c, char **operands, size_t n, size_t split)
{
	static char before[] = "nsprof.data.old", after[] = "nsprof.data";
	char *last_two[] = { before, after };

	if (!n && split == SIZE_MAX) {
		operands = last_two;
		n = ARRAY_SIZE(last_two);
	}
	if (split == SIZE_MAX ? n < 2 || (n > 2 && !c->aa) : !split || split == n) {
		pr_err("expected two files, BEFORE AFTER, or several per side, BEFORE... -- AFTER...; see 'nsprof diff --help'");
		return -EINVAL;
	}
	c->in = xcalloc(n, sizeof(*c->in));
	c->profiles = xcalloc(n, sizeof(struct profile *));
	c->nin = n;
	for (size_t i = 0; i < n; i++) {
		c->in[i].path = operands[i];
		/* A/A test with several files: they alternate between the sides. */
		c->in[i].side = split == SIZE_MAX ? i % 2 : i >= split;
	}
	return 0;
}

/* Reports a missing or foreign file before any other input is read. */
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
	if (!err)
		diff_events(c->profiles, c->in, c->nin);
	for (size_t i = 0; i < c->nin && !err; i++)
		if (folded[i])
			c->profiles[i] = folded_comms(c->profiles[i], c->profiles, c->nin);
	free(folded);
	return err;
}

/*
 * Prefers periods if they are known: unlike samples, they do not depend on the frequency, nor on
 * the load if events are counted.
 */
static void choose_weight(struct diff_cmd *c)
{
	c->diff.period = c->weight != DIFF_WEIGHT_SAMPLES;
	for (size_t i = 0; c->weight == DIFF_WEIGHT_BEST && i < c->nin; i++)
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

/* Prints what formats for programs have no place for, or where nobody would look for it. */
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
	case DIFF_FORMAT_TEXT:
		diff_write_text(v, to);
		break;
	case DIFF_FORMAT_MD:
		diff_write_md(v, to);
		break;
	case DIFF_FORMAT_JSON:
		diff_write_json(v, to);
		break;
	case DIFF_FORMAT_CSV:
		diff_write_csv(v, to);
		break;
	case DIFF_FORMAT_FOLDED:
		t = diff_tree_new(c->in, c->nin, v->d);
		diff_write_folded(t, to);
		break;
	case DIFF_FORMAT_SVG:
		t = diff_tree_new(c->in, c->nin, v->d);
		diff_view_summary(v, &line);
		strbuf_adds(&line, "; red is more, blue less, grey no more than chance");
		diff_write_svg(t, v->d, c->title, line.s, to);
		break;
	case DIFF_FORMAT_HTML:
		strbuf_adds(&line, "Before and after: ");
		diff_view_summary(v, &line);
		diff_write_html(c->in, c->nin, v->d, c->title ? c->title : line.s, to);
		break;
	}
	diff_tree_free(t);
	strbuf_fini(&line);
	if (c->output || (c->format != DIFF_FORMAT_TEXT && c->format != DIFF_FORMAT_MD))
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

	diff_inlines(c->profiles, c->nin, &notes);
	if (!c->load.all_waits)
		diff_parked(c->profiles, c->nin, &c->diff);
	for (size_t i = 0; i < c->nin; i++)
		c->in[i].profile = c->profiles[i];
	choose_weight(c);
	nwhy = diff_fit(c->in, c->nin, &c->diff, &why, &notes);
	for (char *line = why.s, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		if (c->force)
			strbuf_addf(&notes, "compared anyway: %s\n", line);
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
	if ((c->format == DIFF_FORMAT_SVG && !outfile_check_terminal(c->output, "--format svg", "a picture")) ||
	    (c->format == DIFF_FORMAT_HTML && !outfile_check_terminal(c->output, "--format html", "a page for a browser")))
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

static int run(void *ctx)
{
	struct diff_cmd *c = ctx;
	struct outfile *out;

	if (check_inputs(c))
		return EXIT_ERROR;
	/* Open it first, so that an unwritable path is reported before the work. */
	out = outfile_open(c->output);
	if (!out)
		return EXIT_ERROR;
	if (!load_inputs(c))
		return compare(c, out);
	outfile_abort(out);
	return EXIT_ERROR;
}

/* What the parser is served. */
struct served {
	struct source_served source;
	const char **paths;	/* owned */
};

static int serve(void *ctx, uint32_t kind, int *value, const char *text, int *fd)
{
	const struct served *s = ctx;

	return source_serve(&s->source, kind, value, text, fd);
}

static int confined(struct diff_cmd *c)
{
	struct served s = { .paths = xcalloc(c->nin, sizeof(*s.paths)) };
	const struct parser p = {
		.output = c->output && strcmp(c->output, "-") ? c->output : NULL, .no_files = true, .input = "the inputs", .failed = EXIT_ERROR,
		.serve = serve, .ctx = &s,
	};
	int status;

	for (size_t i = 0; i < c->nin; i++)
		s.paths[i] = c->in[i].path;
	s.source = (struct source_served){ s.paths, c->nin, &c->load };
	if (c->load.no_sandbox) {
		pr_warn("--no-sandbox: the inputs are read with all rights");
		status = run(c);
	} else {
		status = parser_run(&p, run, c);
	}
	free(s.paths);
	return status;
}

int main(int argc, char **argv)
{
	struct diff_cmd c = { .normalize = true, .limit = 40, .percent_limit = 0.1, .diff = { .alpha = 0.05, .run_noise = 0.01, .seed = 1 } };
	size_t noperands, after = 0, split = SIZE_MAX;
	int first, err, status = EXIT_USAGE;

	pages_heap(pages_are_slow());
	log_init("nsprof diff");
	signals_init();
	for (int i = 1; i < argc && !after; i++)
		if (!strcmp(argv[i], "--"))
			after = (size_t)(argc - i);
	err = diff_options_parse(&c, argc, argv, &first);
	if (err) {
		fini(&c);
		return err == OPT_HELP ? 0 : EXIT_USAGE;
	}
	if (c.build_info) {
		puts("diff: text md json csv folded svg html");
		return 0;
	}
	log_set_verbosity(c.load.quiet ? -1 : c.verbose);
	c.load.keep_parked = !c.load.all_waits;
	c.diff.keep_names = !c.normalize;
	noperands = (size_t)(argc - first);
	/* If opt_parse() stopped at the "--", it precedes the operands. */
	if (first > 1 && !strcmp(argv[first - 1], "--"))
		split = noperands - (after - 1);
	if (!name_inputs(&c, argv + first, noperands, split) && !check_options(&c))
		status = confined(&c);
	fini(&c);
	return status;
}
