/* nsprof-script: prints a recording as perf script does. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/util.h"
#include "cli/maxstack.h"
#include "cli/opt.h"
#include "cmd/script_perf_opts.h"
#include "cmd/symbolize_run.h"
#include "host/nsopen.h"
#include "host/pages.h"
#include "output/to_script.h"
#include "profile/lead_frames.h"

static int set_fields(void *dst, const char *arg)
{
	struct symbolize_opts *o = dst;

	o->fields = o->fields ? o->fields : SCRIPT_DEFAULT;
	return script_parse_fields(arg, &o->fields);
}

static int parse(int argc, char **argv, struct symbolize_opts *o)
{
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		SYMBOLIZE_INPUT_OPTS(o, "The default is all events."),

		OPT_GROUP("Output"),
		{ "fields", 'F', "LIST", "show these fields; +NAME and -NAME change the default",
		  OPT_CALL, o, set_fields,
		  .value = ",comm|pid|tid|cpu|time|period|event|ip|sym|symoff|dso|srcline|cgroup|trace",
		  .more =
			"LIST holds comm, pid, tid, cpu, time, period, event, ip, sym, symoff, "
			"dso, srcline, cgroup and trace, separated by commas. The default is all "
			"but symoff, srcline, cgroup and trace. trace prints the fields of a "
			"tracepoint as NAME=VALUE. See FIELDS." },
		OPT_COMMON_OUTPUT(&o->output),
		{ "header", 0, NULL, "begin with host, kernel and command line", OPT_FLAG,
		  &o->header, .more = NULL },
		{ "header-only", 0, NULL, "show only the header", OPT_FLAG, &o->header_only,
		  .more = NULL },
		{ "ns", 0, NULL, "show times in nanoseconds instead of microseconds", OPT_FLAG,
		  &o->ns, .more = NULL },
		{ "reltime", 0, NULL, "show times since the first sample", OPT_FLAG, &o->reltime,
		  .more = NULL },
		{ "deltatime", 0, NULL, "show times since the previous sample", OPT_FLAG,
		  &o->deltatime, .more = NULL },

		OPT_GROUP("Samples"),
		SYMBOLIZE_FILTER_OPTS(o),

		OPT_GROUP("Stacks and names"),
		SYMBOLIZE_STACK_OPTS(o),
		SYMBOLIZE_NAME_OPTS(o),

		OPT_GROUP("Where names come from"),
		SYMBOLIZE_SOURCE_OPTS(o),

		OPT_GROUP("Messages"),
		SYMBOLIZE_REST_OPTS(o),
		OPT_COMMON_VERBOSE(&o->verbose),

		/* Hidden. */
		{ "show-info", 'I', NULL, NULL, OPT_FLAG, &o->header, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o->build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof script [options] [FILE]",
		.summary = "Print each sample of a recording with its stack, in the order of time, as perf script does.",
		.epilog =
			"Examples:\n"
			"  nsprof script | stackcollapse-perf.pl | flamegraph.pl > profile.svg\n"
			"  nsprof script -F comm,tid,time,ip,sym --comms server\n"
			"\n"
			"Exit status: 0 success; 1 failure, interrupted, or the recording is cut or damaged (what can be\n"
			"read of it is shown); 129 wrong command line.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
		.operands = OPT_VALUE_RECORDING,
	};

	return symbolize_parse(o, &spec, argc, argv);
}

int main(int argc, char **argv)
{
	struct symbolize_opts o = SYMBOLIZE_OPTS_DEFAULT;
	int err;

	pages_heap(pages_are_slow());
	log_init("nsprof script");
	signals_init();
	o.kind = FORMAT_SCRIPT;
	lead_parse("none", &o.lead);
	err = parse(argc, argv, &o);
	if (err == OPT_HELP)
		return EXIT_SUCCESS;
	if (err)
		return EXIT_USAGE;
	if (o.build_info) {
		puts("script: unwind=cached,libunwind,libdw,fp libdw libelf lzma demangle");
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	return symbolize_run(&o);
}
