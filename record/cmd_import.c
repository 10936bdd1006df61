/* nsprof-import: perf.data into a recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import.h"
#include "log.h"
#include "opt.h"
#include "signals.h"
#include "util.h"

static int set_stacks(void *dst, const char *arg)
{
	if (strcmp(arg, "masked") && strcmp(arg, "full")) {
		pr_err("--stacks '%s' is not masked or full", arg);
		return -EINVAL;
	}
	*(bool *)dst = !strcmp(arg, "full");
	return 0;
}

int main(int argc, char **argv)
{
	struct import_opts o = { .input = NULL };
	bool quiet = false, build_info = false;
	int verbose = 0, first, err;
	const struct opt opts[] = {
		{ "input", 'i', "FILE", "perf.data, '-' for standard input (default perf.data)", OPT_STR, &o.input, NULL },
		{ "output", 'o', "FILE", "the recording, '-' for standard output (default nsprof.data)", OPT_STR, &o.output,
		  NULL },
		{ "event", 'e', "NAME", "whose samples are taken (default: the first event that has some)", OPT_STR, &o.event,
		  NULL },
		{ "stacks", 0, "HOW", "masked (default) or full: with all words of the stack copies", OPT_CALL,
		  &o.full_stacks, set_stacks },
		{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &quiet, NULL },
		{ "verbose", 'v', NULL, "say more", OPT_COUNT, &verbose, NULL },
		{ "name", 0, "NAME", NULL, OPT_STR, &o.name, NULL },	/* by programs that read perf.data through us */
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &build_info, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof import [options] [FILE]",
		.summary = "Turns what perf record wrote, a file or a pipe's contents, into a recording: masked, a few bytes a "
			   "sample, with the symbols and rows it needs taken from the files of this host that prove to be "
			   "the recorded ones.",
		.epilog = "Examples:\n"
			  "  nsprof import perf.data -o nsprof.data\n"
			  "  perf record -o - -g -a sleep 1 | nsprof import -i - -o - | nsprof symbolize -i -\n"
			  "\n"
			  "Exit status: 0 done; 1 failed, or perf.data is cut or damaged (what can be read is in the\n"
			  "recording); 129 the command line is wrong.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
	};

	log_init_for(argv[0], "nsprof import");
	signals_init();
	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err == OPT_HELP ? 0 : EXIT_USAGE;
	if (build_info) {
		puts("import: perf.data zstd");
		return 0;
	}
	log_set_verbosity(quiet ? -1 : verbose);
	if (argc - first > 1 || (o.input && argc > first)) {
		pr_err("one input at a time: '%s' is one too many; see --help", argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (argc > first)
		o.input = argv[first];
	if (!o.input)
		o.input = "perf.data";
	return import_run(&o) ? 1 : 0;
}
