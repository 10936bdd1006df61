/* The option table of nsprof diff. */
#include "cmd/diff_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "cmd/report_perf_opts.h"

static const char *const formats[] = {
	[DIFF_FORMAT_TEXT] = "text", [DIFF_FORMAT_MD] = "md", [DIFF_FORMAT_JSON] = "json", [DIFF_FORMAT_CSV] = "csv", [DIFF_FORMAT_FOLDED] = "folded",
	[DIFF_FORMAT_SVG] = "svg", [DIFF_FORMAT_HTML] = "html",
};

static int set_format(void *dst, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(arg, formats[i])) {
			*(enum diff_format *)dst = (enum diff_format)i;
			return 0;
		}
	pr_err("unknown format '%s'; --format takes text, md, json, csv, folded, svg or html", arg);
	return -EINVAL;
}

/* A number from 0 to @max, with or without "%". */
static int set_percent(double *dst, const char *arg, double max, const char *option)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(v >= 0 && v <= max)) {
		pr_err("'%s' is out of range; %s takes a number from 0 to %g", arg, option, max);
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
		pr_err("'%s' is out of range; --alpha takes a rate of false alarms from 0.001 to 0.5", arg);
		return -EINVAL;
	}
	*(double *)dst = v;
	return 0;
}

static int set_weight(void *dst, const char *arg)
{
	struct diff_cmd *c = dst;

	if (strcmp(arg, "samples") && strcmp(arg, "period")) {
		pr_err("unknown weight '%s'; --weight takes samples or period", arg);
		return -EINVAL;
	}
	c->weight = strcmp(arg, "period") ? DIFF_WEIGHT_SAMPLES : DIFF_WEIGHT_PERIOD;
	return 0;
}

static int set_per(void *dst, const char *arg)
{
	if (strcmp(arg, "total") && strcmp(arg, "second")) {
		pr_err("invalid value '%s' for --per; it takes total or second (for other units, use --scale)", arg);
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

int diff_options_parse(struct diff_cmd *c, int argc, char **argv, int *first)
{
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		OPT_COMMON_EVENT(&c->load.event,
			"The default is the first event that all files have samples of. Messages name the other "
			"ones, and those that only some files have."),
		OPT_COMMON_FILTER(c, add_filter),
		OPT_COMMON_ALL_WAITS(&c->load.all_waits),
		OPT_COMMON_NO_INLINE(&c->load.no_inline, "For builds that inline different functions."),
		{ "normalize", 0, NULL, "compare names as they are, with what a rebuild changes",
		  OPT_SWITCH, &c->normalize,
		  .more =
			"By default, names are compared without hashes, .constprop.N, .llvm.N, "
			"numbers of lambdas and addresses." },
		{ "weight", 0, "WHAT",
		  "count samples (off-cpu: waits) or period (default: where known)", OPT_CALL, c,
		  set_weight, .value = "samples|period",
		  .more = "For clocks, period is CPU time." },

		OPT_GROUP("Comparison"),
		{ "scale", 0, "COUNTS", "compare the cost per unit of work: before=N,after=N",
		  OPT_STR, &c->scale, .value = ",before=|after=",
		  .more =
			"N is how many units of work (e.g. requests) each version did. With "
			"several recordings per version, N is their sum, or N:N:... gives one "
			"number for each." },
		{ "per", 0, "total|second",
		  "compare shares of the total (default) or amounts per second", OPT_CALL,
		  &c->diff.per, set_per, .value = "total|second",
		  .more =
			"Amounts are per second recorded, or per second that --filter keeps. "
			"Seconds in which sampling was off (nsprof record -D or --control) "
			"count as recorded. Samples that were lost, or not taken because the "
			"event was throttled, count as average ones." },
		{ "alpha", 0, "RATE",
		  "allow this rate of false alarms per comparison (default: 0.05)", OPT_CALL,
		  &c->diff.alpha, set_alpha, .more = NULL },
		{ "run-noise", 0, "P",
		  "assume P percent run-to-run noise per function (default: 1)", OPT_CALL,
		  &c->diff.run_noise, set_run_noise,
		  .more =
			"One recording per version tells nothing about run-to-run noise; an "
			"assumption takes its place. Several recordings per version show the "
			"noise, and nsprof prints it." },
		{ "aa", 0, NULL, "expect no change: exit with status 1 if one is found", OPT_FLAG,
		  &c->aa,
		  .more =
			"Both sides are the same program. nsprof prints how large the changes "
			"are relative to what is expected (1 is right). More than two files "
			"without `--` go to the two sides in turn." },
		{ "force", 'f', NULL, "compare even what should not be compared", OPT_FLAG,
		  &c->force, .more = "The output says so." },

		OPT_GROUP("Output"),
		{ "format", 0, "FORMAT", "write text (default), md, json, csv, folded, svg or html",
		  OPT_CALL, &c->format, set_format, .value = "text|md|json|csv|folded|svg|html",
		  .more =
			"- md: Markdown, e.g. for a pull request.\n"
			"- json, csv: rates instead of percent, with all intervals.\n"
			"- folded: two columns for flamegraph.pl, like difffolded.pl -n. The "
			"first is brought to the scale of the second. Functions of the kernel "
			"end in _[k].\n"
			"- svg: a flame graph of both sides. Red is more, blue is less, grey is "
			"no more than chance. A leaf has the color of its function's self, "
			"another frame that of its total. What vanished is included. With "
			"amounts, 100 % is the second side.\n"
			"- html: a page with both sides, to choose threads and times in, like "
			"that of nsprof report." },
		OPT_COMMON_OUTPUT(&c->output),
		{ "fail-on", 0, "COND", "exit with status 1 if COND holds, e.g. 'total>2%'",
		  OPT_CALL, c, add_gate, .value = "total>|func:|self:",
		  .more =
			"The option can be repeated.\n\n"
			"- total>2%: all samples together grew by more than 2 %. This needs "
			"--scale or --per second.\n"
			"- func:REGEX>5%: a function whose name matches grew, with what it "
			"calls.\n"
			"- self:REGEX>5%: the same without what it calls.\n\n"
			"Percentages are of the function's own cost before; 0.5pp are points of "
			"the total. A new function grew by more than any percentage. REGEX is "
			"an extended regular expression that can match anywhere in the name." },
		{ "limit", 'n', "N", "print at most N functions, 0 for all (default: 40)", OPT_U64,
		  &c->limit, .more = "Text and Markdown only." },
		{ "percent-limit", 0, "P",
		  "leave out unchanged functions below P percent (default: 0.1)", OPT_CALL,
		  &c->percent_limit, set_percent_limit,
		  .more =
			"Functions below P percent on both sides are left out, unless they "
			"changed significantly. Such a function can make a condition fail, but "
			"not inconclusive." },
		{ "title", 0, "TEXT", "set the title of the picture or page", OPT_STR, &c->title,
		  .more = NULL },

		OPT_GROUP("Messages"),
		OPT_COMMON_QUIET(&c->load.quiet),
		OPT_COMMON_NO_SANDBOX(&c->load.no_sandbox, OPT_COMMON_NO_SANDBOX_INPUT),
		OPT_COMMON_VERBOSE(&c->verbose),
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &c->build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof diff [options] [BEFORE AFTER | BEFORE... -- AFTER...]",
		.summary = "Show which functions changed between two versions, by how much, and whether that is more than chance. Each side is one "
			   "or more recordings, saved profiles or folded stacks. Without files, nsprof compares the last two recordings, "
			   "nsprof.data.old and nsprof.data.",
		.epilog = "Exit status: 0 success, no condition of --fail-on holds; 1 a condition holds, or --aa found a\n"
			  "change; 2 inconclusive; 3 failure, or the inputs cannot be compared; 129 wrong command line.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_diff_opts,
		.nperf = perf_diff_nopts,
		.operands = OPT_VALUE_RECORDING,
	};

	return opt_parse(&spec, argc, argv, first);
}
