/* nsprof-script: a recording in, the text of perf script out. */
#include <stdio.h>
#include <stdlib.h>

#include "leading.h"
#include "log.h"
#include "maxstack.h"
#include "nsopen.h"
#include "opt.h"
#include "pages.h"
#include "perf_opts.h"
#include "signals.h"
#include "symbolize_run.h"
#include "to_script.h"
#include "util.h"

static int set_fields(void *dst, const char *arg)
{
	struct symbolize_opts *o = dst;

	o->fields = o->fields ? o->fields : SCRIPT_DEFAULT;
	return script_parse_fields(arg, &o->fields);
}

static int parse(int argc, char **argv, struct symbolize_opts *o)
{
	const struct opt opts[] = {
		SYMBOLIZE_INPUT_OPTS(o),
		{ "output", 'o', "FILE", "write to FILE instead of standard output", OPT_STR, &o->output, NULL },
		{ "fields", 'F', "LIST",
		  "show these: comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso,srcline,cgroup; a + or - in front of a name changes the default",
		  OPT_CALL, o, set_fields },
		{ "header", 0, NULL, "begin with what is known of host and command", OPT_FLAG, &o->header, NULL },
		{ "header-only", 0, NULL, "show nothing but that", OPT_FLAG, &o->header_only, NULL },
		{ "show-info", 'I', NULL, NULL, OPT_FLAG, &o->header, NULL },
		{ "ns", 0, NULL, "show times to the nanosecond", OPT_FLAG, &o->ns, NULL },
		{ "reltime", 0, NULL, "show times since the first sample", OPT_FLAG, &o->reltime, NULL },
		{ "deltatime", 0, NULL, "show times since the sample before", OPT_FLAG, &o->deltatime, NULL },
		SYMBOLIZE_FILTER_OPTS(o),
		SYMBOLIZE_NAME_OPTS(o),
		SYMBOLIZE_STACK_OPTS(o),
		SYMBOLIZE_REST_OPTS(o),
		{ "verbose", 'v', NULL, "say more", OPT_COUNT, &o->verbose, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof script [options] [FILE]",
		.summary = "Prints each sample with its stack, in the order of time, as perf script does.",
		.epilog =
			"Examples:\n"
			"  nsprof script | stackcollapse-perf.pl | flamegraph.pl > profile.svg\n"
			"  nsprof script -F comm,tid,time,ip,sym --comms server\n"
			"\n"
			"Exit status: 0 done; 1 failed, interrupted, or the recording is cut or damaged\n"
			"(what can be read of it is shown); 129 the command line is wrong.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
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
