/* nsprof-import: turns perf.data into a recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/util.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "host/opener.h"
#include "host/pages.h"
#include "host/unanswered.h"
#include "import/import.h"

static int set_stacks(void *dst, const char *arg)
{
	if (strcmp(arg, "masked") && strcmp(arg, "full")) {
		pr_err("invalid value '%s' for --stacks; it takes masked or full", arg);
		return -EINVAL;
	}
	*(bool *)dst = !strcmp(arg, "full");
	return 0;
}

static int set_fields(void *dst, const char *arg)
{
	enum payloads *to = dst;

	if (!arg || !strcmp(arg, "numbers"))
		*to = PAYLOADS_NUMBERS;
	else if (!strcmp(arg, "all"))
		*to = PAYLOADS_ALL;
	else if (!strcmp(arg, "none"))
		*to = PAYLOADS_NONE;
	else
		return -EINVAL;
	return 0;
}

static int parse_fields(void *dst, const char *arg)
{
	if (!set_fields(dst, arg))
		return 0;
	pr_err("invalid value '%s' for --fields; it takes numbers, all or none", arg);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct import_opts o = { .input = NULL };
	bool quiet = false, build_info = false;
	int verbose = 0, first, err, status;
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		{ "input", 'i', "FILE",
		  "read this perf.data, - for standard input (default: perf.data)", OPT_STR,
		  &o.input, .value = OPT_VALUE_RECORDING,
		  .more =
			"FILE as an argument means the same. A directory made by perf record "
			"--threads is read like a file." },
		{ "event", 'e', "NAME", "take only this event (default: all)",
		  OPT_STR, &o.event,
		  .more =
			"NAME is what perf evlist shows; the modifier can be omitted. See "
			"Events." },
		OPT_GROUP("Output"),
		{ "output", 'o', "FILE",
		  "write to this file, - for standard output (default: nsprof.data)", OPT_STR,
		  &o.output, .value = OPT_VALUE_FILE,
		  .more =
			"Without the option, nsprof writes to standard output if that is a pipe." },
		{ "stacks", 0, "masked|full",
		  "keep only what unwinding needs (default), or whole stack copies", OPT_CALL,
		  &o.full_stacks, set_stacks, .value = "masked|full",
		  .more =
			"masked keeps only code and stack addresses; all other data is zeroed. "
			"If the mappings of a process are not known, it keeps no user stack. "
			"full keeps all data on the stacks, with keys and passwords; guard such "
			"a recording like a core dump." },
		{ "fields", 0, "[WHICH]", "keep the fields of tracepoints: numbers (default) or all",
		  OPT_CALL, &o.payloads, parse_fields, .value = "numbers|all|none",
		  .more =
			"Without this option, a recording has no fields. all also keeps text, such as "
			"paths, which may be data of users. perf.data has fields unless it comes from a "
			"pipe. See FIELDS in nsprof-script(1)." },
		OPT_GROUP("Messages"),
		OPT_COMMON_QUIET(&quiet),
		OPT_COMMON_VERBOSE(&verbose),
		OPT_COMMON_NO_SANDBOX(&o.no_sandbox, OPT_COMMON_NO_SANDBOX_PARSER),
		/* for programs that read perf.data through nsprof-import */
		{ "name", 0, "NAME", NULL, OPT_STR, &o.name, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof import [options] [FILE]",
		.summary = "Turn a perf.data, from a file or a pipe, into a recording. Stacks are masked and coded to a few bytes per sample. "
			   "Symbols and unwind information come from the files of this host that prove to be the recorded ones.",
		.epilog = "Examples:\n"
			  "  nsprof import perf.data -o nsprof.data\n"
			  "  perf record -o - -g -a sleep 1 | nsprof import -i - -o - | nsprof symbolize -i -\n"
			  "\n"
			  "Exit status: 0 success; 1 failure, or perf.data is cut or damaged (what can be read is in the\n"
			  "recording); 129 wrong command line.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.operands = OPT_VALUE_RECORDING,
	};

	pages_heap(pages_are_slow());
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
		pr_err("unexpected argument '%s': only one input can be read; see 'nsprof import --help'", argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (argc > first)
		o.input = argv[first];
	if (!o.input)
		o.input = "perf.data";
	if (o.full_stacks)
		pr_warn("--stacks=full: the recording will hold all data on the stacks, such as keys and passwords; guard it like a core dump");
	if (opener_start(!o.no_sandbox))
		return 1;
	status = import_run(&o);
	unanswered_tell(NULL, NULL);
	opener_stop();
	return status;
}
