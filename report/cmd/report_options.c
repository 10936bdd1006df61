/* The option table of nsprof report. */
#include "cmd/report_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/maxstack.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "cmd/report_perf_opts.h"
#include "profile/filter.h"
#include "recording/rec_reader.h"
#include "views/sortkeys.h"

static int set_percent(void *dst, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100)) {
		pr_err("invalid percentage '%s'; --percent-limit takes a number from 0 to 100", arg);
		return -EINVAL;
	}
	*(double *)dst = v;
	return 0;
}

static int set_weight(void *dst, const char *arg)
{
	if (strcmp(arg, "samples") && strcmp(arg, "period")) {
		pr_err("unknown weight '%s'; --weight takes samples or period", arg);
		return -EINVAL;
	}
	*(enum report_weight *)dst = strcmp(arg, "period") ? REPORT_WEIGHT_SAMPLES : REPORT_WEIGHT_PERIOD;
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
 * perf's lists are passed to nsprof-symbolize, which knows the threads. A syntax error is an error
 * of our command line, whatever the input is.
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

/* An empty name would match no file, or only code without a name. */
static int set_places(const char **dst, const char *option, const char *arg)
{
	if (!arg[strspn(arg, ",")]) {
		pr_err("%s takes names, separated by commas, not '%s'", option, arg);
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
		pr_err("invalid separator '%s'; -t takes one character other than '.'", arg);
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

/* Tables always show perf's columns of counts: only the other words are sort keys. */
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
	/* Only counts: use the default keys. */
	o->sort = keys.len ? keys.s : NULL;
	if (!keys.len)
		strbuf_fini(&keys);
	return 0;
}

/* perf's columns; one of them counts callees. */
static int set_fields(void *dst, const char *arg)
{
	struct report_opts *o = dst;

	o->table.children = strstr(arg, "overhead_children") != NULL;
	return set_sort(dst, arg);
}

/* One of the words after perf's -g, in any order: form, direction, value. */
static int chain_word(struct report_opts *o, const char *word, size_t len, unsigned int *numbers)
{
	static const struct {
		const char *word;
		int tree, folded, callee, value;	/* -1: unset */
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
	/* The second number is the maximum number of entries. */
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
	pr_err("invalid call graph '%s'; -g takes none, graph, folded, caller, callee, percent, count, period and a number, "
	       "separated by commas", arg);
	return -EINVAL;
}

/*
 * As in perf, "-g WORD" takes the next argument, but only if it is a word for call graphs: it may
 * be a file.
 */
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

static int check_format(struct report_opts *o)
{
	static const char *const names[] = {
		[REPORT_FORMAT_TEXT] = "text", [REPORT_FORMAT_CSV] = "csv", [REPORT_FORMAT_JSON] = "json", [REPORT_FORMAT_HTML] = "html",
		[REPORT_FORMAT_SVG] = "svg",
	};
	size_t k = 0;

	if (o->csv || o->json)
		o->format = o->csv ? "csv" : "json";
	while (k < ARRAY_SIZE(names) && strcmp(o->format, names[k]))
		k++;
	if (k == ARRAY_SIZE(names)) {
		pr_err("unknown format '%s'; --format takes text, csv, json, html or svg", o->format);
		return -EINVAL;
	}
	o->kind = (enum report_format)k;
	if ((o->kind == REPORT_FORMAT_HTML && !outfile_check_terminal(o->output, "--format html", "a page for a browser")) ||
	    (o->kind == REPORT_FORMAT_SVG && !outfile_check_terminal(o->output, "--format svg", "a picture")))
		return -EINVAL;
	if (o->kind >= REPORT_FORMAT_HTML && (o->tree || o->focus)) {
		pr_err("%s shows a table; it cannot be combined with --format %s", o->tree ? "--call-graph" : "--focus",
		       o->format);
		return -EINVAL;
	}
	if ((o->tree || o->folded) && o->focus) {
		pr_err("--call-graph and --focus exclude each other");
		return -EINVAL;
	}
	if ((o->folded || o->stats || o->header_only || o->separator) && o->kind != REPORT_FORMAT_TEXT) {
		pr_err("%s needs --format text", o->folded ? "-g folded" : o->stats ? "--stats" : o->header_only ? "--header-only" : "-t");
		return -EINVAL;
	}
	if (o->tree && o->separator) {
		pr_err("-t works on tables only; use --csv for the columns of the call tree");
		return -EINVAL;
	}
	if (o->tree && o->chains.callee) {
		pr_err("-g callee: the tree always begins with callers; -g folded,callee prints stacks from the leaf, and --focus NAME "
		       "shows the callers of one function");
		return -EINVAL;
	}
	/* For the tree, the number is its limit; for folded stacks, it is theirs. */
	if (o->tree && o->chains.percent_limit >= 0 && o->table.percent_limit < 0)
		o->table.percent_limit = o->chains.percent_limit;
	if (o->chains.percent_limit < 0)
		o->chains.percent_limit = 0.5;
	return 0;
}

static void add_fields(struct report_opts *o, const char *names, size_t len)
{
	strbuf_adds(&o->fields, o->fields.len ? "," : "");
	strbuf_add(&o->fields, names, len);
}

/* The fields that keys, leading frames and --with-fields name. */
static void keep_fields(struct report_opts *o)
{
	sortkeys_fields(&o->table.sort, &o->fields);
	if (lead_has(&o->lead, LEAD_FIELD))
		add_fields(o, o->lead.field, strcspn(o->lead.field, ","));
	if (o->with_fields)
		add_fields(o, o->with_fields, strlen(o->with_fields));
	o->load.fields = o->fields.s;
}

static int check_opts(struct report_opts *o)
{
	if (check_format(o) || load_check_filters(&o->load))
		return -EINVAL;
	if (o->width < 300 || o->width > 20000) {
		pr_err("--width %" PRIu64 " is out of range: 300 to 20000", o->width);
		return -EINVAL;
	}
	if (lead_parse(o->by ? o->by : "comm", &o->lead)) {
		pr_err("invalid value '%s' for --by; it takes comm, process, thread, container, event, field:NAME, state or none, each at most once, separated by "
		       "commas", o->by);
		return -EINVAL;
	}
	if (o->kind == REPORT_FORMAT_HTML && lead_has(&o->lead, LEAD_EVENT)) {
		pr_err("--by %s does not work with --format html: the page has a list of events", o->by);
		return -EINVAL;
	}
	if (o->kind == REPORT_FORMAT_HTML && lead_has(&o->lead, LEAD_STATE)) {
		pr_err("--by state does not work with --format html: the page has the state as the last frame; --format svg takes it");
		return -EINVAL;
	}
	if (o->sort && sortkeys_parse(o->sort, &o->table.sort))
		return -EINVAL;
	if (o->with_fields && o->kind != REPORT_FORMAT_HTML) {
		pr_err("--with-fields works with --format html only; use --sort field:NAME or --by field:NAME instead");
		return -EINVAL;
	}
	keep_fields(o);
	o->load.srcline = o->sort && sortkeys_have(&o->table.sort, SORT_SRCLINE);
	o->load.raw_names = !o->demangle;
	/* Programs read folded stacks and expect all of them. */
	if (o->table.limit == REPORT_LIMIT_UNSET)
		o->table.limit = o->tree || o->folded ? 0 : 50;
	if (o->table.percent_limit < 0)
		o->table.percent_limit = o->tree ? 0.5 : o->folded ? 0 : 0.1;
	return 0;
}

int report_options_parse(struct report_opts *o, int argc, char **argv)
{
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		{ "input", 'i', "FILE",
		  "read this file, - for standard input (default: nsprof.data)", OPT_STR, &o->input,
		  .value = OPT_VALUE_RECORDING,
		  .more =
			"A recording, a saved profile, folded stacks or a perf.data. FILE as an "
			"argument means the same. With neither, nsprof reads standard input if "
			"that is a pipe, and nsprof.data otherwise." },
		OPT_COMMON_EVENT(&o->load.event,
			"Without the option, the table has columns for each event, and the page a list "
			"to choose from. The call tree, --focus, -g folded and the SVG show the first "
			"event, and a message names the others."),

		OPT_GROUP("Output"),
		{ "format", 0, "FORMAT", "write text (default), csv, json, html or svg", OPT_STR,
		  &o->format, .value = "text|csv|json|html|svg",
		  .more =
			"csv and json hold the same table as text, with paths and names in full "
			"and the kind of a symbol in a field of its own. JSON also has what is "
			"known of the recording. --limit and --percent-limit leave rows out: "
			"`hidden` is their number in JSON; with CSV it is printed on standard "
			"error. html is a flame graph as a page (see THE PAGE), svg is one as a "
			"picture." },
		{ "csv", 0, NULL, "write the table as CSV", OPT_FLAG, &o->csv,
		  .more = "Short for --format csv." },
		{ "json", 0, NULL, "write the table as JSON, with what is known of the recording",
		  OPT_FLAG, &o->json, .more = "Short for --format json." },
		OPT_COMMON_OUTPUT(&o->output),
		{ "field-separator", 't', "CHAR", "print CHAR between columns, without padding",
		  OPT_CALL, &o->separator, set_separator,
		  .more = "CHAR becomes a dot where a name contains it." },
		{ "title", 0, "TEXT", "set the title of the flame graph", OPT_STR, &o->title,
		  .more = NULL },
		{ "width", 0, "PIXELS", "set the width of the SVG, 300 to 20000 (default: 1200)",
		  OPT_U64, &o->width, .more = NULL },

		OPT_GROUP("Table"),
		{ "sort", 's', "KEYS", "print one row per KEYS (default: comm,dso,symbol)",
		  OPT_CALL, o, set_sort,
		  .value = ",symbol|dso|srcline|comm|pid|tid|container|cgroup|field:",
		  .more =
			"There is one row for each combination, with columns in this order. "
			"perf's spelling -F KEYS works too. Folded text knows nothing else, so "
			"its default is symbol. perf's other keys are rejected with the "
			"reason.\n\n"
			"- symbol, sym: the function. A kernel function is not the same symbol "
			"as a user function of that name.\n"
			"- dso: the binary.\n"
			"- srcline: the source line, of recordings and of profiles saved with "
			"--srcline.\n"
			"- comm: the thread's name.\n"
			"- pid, tgid: the process, as 4711:nginx.\n"
			"- tid: the thread.\n"
			"- container, cgroup: where it ran.\n"
			"- field:NAME, NAME, TRACEPOINT.NAME: a field of a tracepoint recorded with "
			"--fields." },
		{ "children", 0, NULL, "count only a row's own samples, not those of its callees",
		  OPT_SWITCH, &o->table.children,
		  .more = "Rows are sorted by these, in the column Overhead." },
		{ "focus", 0, "NAME", "show callers and callees of this function (name or pattern)",
		  OPT_STR, &o->focus,
		  .more =
			"Callers and callees are the frames directly above and below the "
			"function. Their shares are of the function's own samples; a sample "
			"counts once for each of them. \"(begins here)\" and \"(ends here)\" "
			"stand where there is none. NAME is a name or, if no function has that "
			"name, a pattern." },
		{ "call-graph", 'g', "[WORDS]", "show the call tree from the root", OPT_CALL, o,
		  set_callgraph, .value = ",none|graph|folded|caller|callee|percent|count|period",
		  .more =
			"The only visible callee of a function is printed right below it, and "
			"branches are indented by \"+-\". A run of calls to itself is one line, "
			"\"f (x12)\". What is below --percent-limit is folded: \"(and 3 with "
			"0.40%)\". WORDS are perf's, separated by commas, attached with = or as "
			"the next argument:\n\n"
			"- graph: the tree (default).\n"
			"- folded: the table, and below each row its stacks as \"VALUE "
			"FRAME;FRAME...\".\n"
			"- none: no call graph.\n"
			"- caller, callee: begin folded stacks with the root, or with the leaf.\n"
			"- percent, count, period: the value of folded stacks.\n"
			"- a number: the smallest share to show, in percent.\n\n"
			"As with perf, nsprof report --no-children -n -g folded,0,caller,count "
			"-s comm is text for scripts." },
		{ "tree", 0, NULL, "show the call tree, like --call-graph", OPT_FLAG, &o->tree,
		  .more = NULL },
		{ "show-nr-samples", 'n', NULL,
		  "print the number of samples of each row of -g folded", OPT_FLAG,
		  &o->chains.samples, .more = "Tables always print it." },
		{ "limit", 0, "N", "print at most N rows, 0 for all (default: 50)", OPT_U64,
		  &o->table.limit,
		  .more = "For the call tree and -g folded the default is all." },
		{ "percent-limit", 0, "P",
		  "leave out rows below P percent of all samples (default: 0.1)", OPT_CALL,
		  &o->table.percent_limit, set_percent,
		  .more =
			"The default is 0.5 for the call tree and 0 for -g folded; the number in "
			"the WORDS of -g limits its stacks." },
		{ "by", 0, "LIST", "put these frames in front of stacks in tree and flame graph",
		  OPT_STR, &o->by, .value = ",container|process|thread|comm|event|field:|state|none",
		  .more =
			"One or several of container, process, thread, comm (default), event, "
			"field:NAME, state and none. See nsprof-symbolize(1). A table ignores "
			"this, with a warning: --sort groups its rows, and events and states have "
			"columns of their own." },
		{ "with-fields", 0, "NAME,...", "let the page choose by these fields of tracepoints",
		  OPT_STR, &o->with_fields,
		  .more =
			"With --format html, for events recorded with --fields. The page of a saved "
			"profile has all fields that the profile keeps." },
		{ "stats", 0, NULL, "print only the number of samples, as perf does", OPT_FLAG,
		  &o->stats, .more = NULL },
		{ "header-only", 0, NULL, "print only the head of the table", OPT_FLAG,
		  &o->header_only, .more = NULL },

		OPT_GROUP("Samples"),
		OPT_COMMON_FILTER(o, add_filter),
		OPT_COMMON_COMMS(o, pass_comms),
		OPT_COMMON_PID(o, pass_pid),
		OPT_COMMON_TID(o, pass_tid),
		OPT_COMMON_TIME(o, pass_time, " For recordings only."),
		OPT_COMMON_ALL_WAITS(&o->load.all_waits),
		{ "dsos", 'd', "FILE,...", "use only samples in the code of these files", OPT_CALL,
		  &o->load.dsos, set_dsos,
		  .more =
			"FILE is a path as mapped, its last part, or a pattern. Only the "
			"innermost function of a stack counts." },
		{ "symbols", 'S', "NAME,...", "use only samples in these functions themselves",
		  OPT_CALL, &o->load.symbols, set_symbols,
		  .more =
			"NAME is a name as shown, or a pattern. Commas between brackets belong "
			"to the name." },
		{ "weight", 0, "WHAT", "count samples (off-cpu: waits) or period (default: if it varies)",
		  OPT_CALL, &o->weight, set_weight, .value = "samples|period",
		  .more = OPT_COMMON_WEIGHT_MORE },

		OPT_GROUP("Stacks and names"),
		OPT_COMMON_MAX_STACK(&o->load.max_stack, maxstack_parse, ""),
		OPT_COMMON_NO_INLINE(&o->load.no_inline, NULL),
		OPT_COMMON_DEMANGLE(&o->demangle, NULL),
		OPT_COMMON_MERGE_THREADS(&o->load.merge_threads,
			" In a saved profile, a name counts as the program's own if the name of a file "
			"with functions of the process begins with it."),

		OPT_GROUP("Messages"),
		OPT_COMMON_QUIET(&o->load.quiet),
		OPT_COMMON_NO_SANDBOX(&o->load.no_sandbox, OPT_COMMON_NO_SANDBOX_INPUT),
		OPT_COMMON_VERBOSE(&o->verbose),

		/* Hidden. */
		{ "fields", 'F', "KEYS", NULL, OPT_CALL, o, set_fields, .more = NULL },
		{ "inverted", 'G', NULL, NULL, OPT_FLAG, &o->tree, .more = NULL },
		{ "stdio-color", 0, "WHEN", NULL, OPT_CALL, NULL, set_stdio_color, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o->build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof report [options] [FILE]",
		.summary = "Show where the time went: functions, callers and callees, a call tree or a flame graph. FILE is a recording, a saved "
			   "profile, a perf.data, or folded stacks of any tool.",
		.epilog = "Examples:\n"
			  "  nsprof report --sort container,symbol --no-children\n"
			  "  nsprof report --focus 'parse_*' before.profile\n"
			  "\n"
			  "On a terminal, text goes through $NSPROF_PAGER, $PAGER or less, with colors unless $NO_COLOR is set.\n"
			  "\n"
			  "Exit status: 0 success; 1 failure, interrupted, or the input is damaged (what was read is\n"
			  "shown); 129 wrong command line.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
		.operands = OPT_VALUE_RECORDING,
	};
	int first, err;

	join_callgraph(argc, argv);
	err = opt_parse(&spec, argc, argv, &first);
	if (err || o->build_info)
		return err;
	if (argc - first > 1 || (o->input && argc > first)) {
		pr_err("unexpected argument '%s': only one input can be read; see 'nsprof report --help'", argv[argc - 1]);
		return -EINVAL;
	}
	o->load.path = o->input ? o->input : argc > first ? argv[first] : rec_reader_default();
	return check_opts(o);
}

void report_options_fini(struct report_opts *o)
{
	free(o->load.filters);
	free(o->load.lists);
	free(o->sort);
	strbuf_fini(&o->fields);
}
