/* The table of nsprof annotate's options, and what they accept. */
#include "cmd/annotate_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "cmd/script_perf_opts.h"
#include "debuginfo/debugsource.h"
#include "host/nsopen.h"
#include "recording/rec_reader.h"

static int add_debug_dir(void *dst, const char *arg)
{
	(void)dst;
	return debugsource_add_dir(arg) ? -EINVAL : 0;
}

static int use_debuginfod(void *dst, const char *arg)
{
	struct annotate_opts *o = dst;

	o->debuginfod = true;
	o->servers = arg;
	return 0;
}

static int add_filter(void *dst, const char *arg)
{
	return filter_add(dst, arg);
}

static int set_percent(void *dst, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !isfinite(v) || v < 0 || v > 100) {
		pr_err("invalid percentage '%s'; --percent-limit takes a number from 0 to 100", arg);
		return -EINVAL;
	}
	*(double *)dst = v;
	return 0;
}

static int check_config(struct annotate_opts *o)
{
	o->intel = !strcmp(o->style, "intel");
	if (!o->intel && strcmp(o->style, "att")) {
		pr_err("unknown syntax '%s'; --disassembler-style takes att or intel", o->style);
		return -EINVAL;
	}
	return 0;
}

int annotate_options_parse(struct annotate_opts *o, int argc, char **argv)
{
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		{ "input", 'i', "FILE",
		  "read this recording, - for standard input (default: nsprof.data)", OPT_STR,
		  &o->input, .value = OPT_VALUE_RECORDING,
		  .more =
			"The first argument means the same if it is a recording. With neither, "
			"nsprof reads standard input if that is a pipe, and nsprof.data "
			"otherwise. FILE can also be a perf.data." },
		OPT_COMMON_EVENT(&o->event, OPT_COMMON_EVENT_FIRST),
		OPT_COMMON_FILTER(&o->filter, add_filter),
		OPT_COMMON_STRICT(&o->strict, "show nothing of a recording that is cut or damaged"),

		OPT_GROUP("Output"),
		OPT_COMMON_OUTPUT(&o->output),
		{ "json", 0, NULL, "write JSON", OPT_FLAG, &o->json, .more = "See JSON." },
		{ "percent-limit", 0, "P",
		  "without SYMBOL, show functions with P percent or more (default: 5)", OPT_CALL,
		  &o->percent_limit, set_percent,
		  .more =
			"0 shows every function that has samples. If no function has P percent, "
			"the hottest one is shown." },
		{ "disassembler-style", 'M', "HOW",
		  "print x86 instructions in att (default) or intel syntax", OPT_STR, &o->style,
		  .value = "att|intel", .more = NULL },
		{ "source", 0, NULL, "print no source lines", OPT_SWITCH, &o->source,
		  .more = NULL },
		OPT_COMMON_DEMANGLE(&o->demangle, NULL),

		OPT_GROUP("Where code and lines come from"),
		OPT_COMMON_DEBUG_DIR(add_debug_dir),
		OPT_COMMON_DEBUGINFOD(o, use_debuginfod),
		OPT_COMMON_CACHE(&o->cache),
		OPT_COMMON_PROC(OPT_CALL, NULL, nsopen_use_proc),

		OPT_GROUP("Messages"),
		OPT_COMMON_NO_SANDBOX(&o->no_sandbox, OPT_COMMON_NO_SANDBOX_PARSER),
		OPT_COMMON_QUIET(&o->quiet),
		OPT_COMMON_VERBOSE(&o->verbose),

		/* Hidden. */
		{ "symbol", 's', "SYMBOL", NULL, OPT_STR, &o->symbol, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o->build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof annotate [options] [FILE] [SYMBOL]",
		.summary =
			"Show the instructions of a function with the samples at each, source lines where there is debug info, and where "
			"jumps lead. SYMBOL is a function name as shown by nsprof report, without parameters, or any part of a name that "
			"matches only one function. Without SYMBOL, nsprof shows the hottest functions.",
		.epilog =
			"Examples:\n"
			"  nsprof annotate\n"
			"  nsprof annotate -i host.data --filter container=web ngx_http_parse_header_line\n"
			"  nsprof annotate --json 'ns::Parser::next' | jq .functions[0].instructions\n"
			"\n"
			"On a terminal, text goes through $NSPROF_PAGER, $PAGER or less, with colors unless $NO_COLOR is set.\n"
			"\n"
			"Exit status: 0 success; 1 failure, no function of that name, or the recording is cut or damaged\n"
			"(what can be read of it is shown); 129 wrong command line.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_annotate_opts,
		.nperf = perf_annotate_nopts,
		.operands = OPT_VALUE_RECORDING,
	};
	int first, err;

	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err;
	for (int i = first; i < argc; i++) {
		/* An existing recording is not a function name. */
		if (!o->input && rec_reader_knows_path(argv[i])) {
			o->input = argv[i];
		} else if (!o->symbol) {
			o->symbol = argv[i];
		} else {
			pr_err("unexpected argument '%s': only one function can be shown; see 'nsprof annotate --help'", argv[i]);
			return -EINVAL;
		}
	}
	return check_config(o);
}
