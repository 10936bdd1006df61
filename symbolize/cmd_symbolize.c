/* nsprof-symbolize: a recording in, folded stacks with names out. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "leading.h"
#include "log.h"
#include "maxstack.h"
#include "nsopen.h"
#include "opt.h"
#include "outfile.h"
#include "pages.h"
#include "perf_opts.h"
#include "signals.h"
#include "symbolize_run.h"
#include "util.h"

static const char *const formats[FORMATS] = { "folded", "profile", "script", "pprof", "speedscope", "firefox" };

/* What the command line says before it is understood. */
struct words {
	const char *format, *by, *split_by, *weight;
};

static int check_split(const struct words *w, struct symbolize_opts *o)
{
	if (!w->split_by)
		return 0;
	if (lead_parse_kind(w->split_by, strlen(w->split_by), &o->split) || o->split == LEAD_NONE) {
		pr_err("--split-by '%s' is not one of container, process, thread, comm", w->split_by);
		return -EINVAL;
	}
	if (!o->output || !strcmp(o->output, "-")) {
		pr_err("--split-by makes several files: say in which folder, with -o DIR");
		return -EINVAL;
	}
	o->split_by = w->split_by;
	return 0;
}

/* A profile has whose samples they are and both weights anyway: what would choose among them chooses nothing. */
static int check_format(const struct words *w, struct symbolize_opts *o)
{
	const char *given = w->by ? "--by" : w->split_by ? "--split-by" : o->annotate ? "--annotate" : NULL;

	for (o->kind = 0; o->kind < FORMATS && strcmp(w->format, formats[o->kind]); o->kind++)
		;
	if (o->kind == FORMATS) {
		pr_err("--format '%s' is not one of folded, profile, script, pprof, speedscope, firefox", w->format);
		return -EINVAL;
	}
	if (given && o->kind != FORMAT_FOLDED) {
		pr_err("%s is for folded text: a %s has all of it", given, w->format);
		return -EINVAL;
	}
	if (w->weight && o->kind != FORMAT_FOLDED && o->kind != FORMAT_SPEEDSCOPE && o->kind != FORMAT_FIREFOX) {
		pr_err("--weight is for --format folded, speedscope and firefox: a %s has both samples and periods", w->format);
		return -EINVAL;
	}
	return 0;
}

/* What nobody reads as text. */
static bool check_terminal(const struct symbolize_opts *o)
{
	static const char *const what[FORMATS] = {
		[FORMAT_PPROF] = "compressed data", [FORMAT_SPEEDSCOPE] = "JSON for speedscope",
		[FORMAT_FIREFOX] = "JSON for the Firefox Profiler",
	};
	char option[32];

	snprintf(option, sizeof(option), "--format %s", formats[o->kind]);
	return !what[o->kind] || outfile_check_terminal(o->output, option, what[o->kind]);
}

static int check(const struct words *w, struct symbolize_opts *o)
{
	const char *by = w->by;

	if (check_format(w, o))
		return -EINVAL;
	if (!by)
		by = o->kind == FORMAT_FOLDED ? "comm" : "none";
	if (lead_parse(by, &o->lead)) {
		pr_err("--by '%s' is not a list of comm, process, thread, container, none, each at most once", by);
		return -EINVAL;
	}
	if (check_split(w, o) || !check_terminal(o))
		return -EINVAL;
	if (w->weight && fold_parse_weight(w->weight, &o->fold)) {
		pr_err("--weight '%s' is not one of samples, period", w->weight);
		return -EINVAL;
	}
	return 0;
}

static const char of_script[] = "nsprof script has it";

static int parse(int argc, char **argv, struct symbolize_opts *o)
{
	struct words w = { .format = "folded" };
	const struct opt opts[] = {
		SYMBOLIZE_INPUT_OPTS(o),
		{ "output", 'o', "FILE",
		  "where the folded stacks go (default standard output); a folder with --split-by",
		  OPT_STR, &o->output, NULL },
		{ "format", 0, "FORMAT",
		  "folded (default); profile: stacks by thread and time, to be kept, reported and compared; "
		  "script: each sample, as nsprof script has it; pprof; speedscope; firefox: for the Firefox Profiler",
		  OPT_STR, &w.format, NULL },
		{ "by", 0, "LIST",
		  "leading frames: comm, process, thread, container, none, or several, as "
		  "'container,process' (default comm)", OPT_STR, &w.by, NULL },
		{ "split-by", 0, "WHAT",
		  "one file for each container, process, thread or comm, in the folder of -o", OPT_STR,
		  &w.split_by, NULL },
		SYMBOLIZE_FILTER_OPTS(o),
		{ "weight", 0, "WHAT", "count samples or period (default: period if it varies, else samples)", OPT_STR, &w.weight, NULL },
		{ "annotate", 0, NULL, "append _[k] to kernel, _[j] to JIT, _[i] to inlined, _[joined] to joined frames",
		  OPT_FLAG, &o->annotate, NULL },
		SYMBOLIZE_NAME_OPTS(o),
		{ "srcline", 0, NULL, "append the source line: 'parse (input.c:120)'", OPT_FLAG, &o->srcline, NULL },
		SYMBOLIZE_STACK_OPTS(o),
		SYMBOLIZE_REST_OPTS(o),
		{ "verbose", 'v', NULL, "more messages, and offsets in '[libx.so+0x1234]'", OPT_COUNT, &o->verbose, NULL },
		{ "fields", 'F', "LIST", of_script, OPT_REFUSE, NULL, NULL },
		{ "header", 0, NULL, of_script, OPT_REFUSE, NULL, NULL },
		{ "header-only", 0, NULL, of_script, OPT_REFUSE, NULL, NULL },
		{ "show-info", 'I', NULL, of_script, OPT_REFUSE, NULL, NULL },
		{ "ns", 0, NULL, of_script, OPT_REFUSE, NULL, NULL },
		{ "reltime", 0, NULL, of_script, OPT_REFUSE, NULL, NULL },
		{ "deltatime", 0, NULL, of_script, OPT_REFUSE, NULL, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof symbolize [options] [FILE]",
		.summary =
			"Turns a recording into folded stacks, root first, one line for each stack "
			"with its count. Binaries are taken from the living process, from this host "
			"if the build-id proves them, or from the rows in the recording.",
		.epilog =
			"Examples:\n"
			"  nsprof symbolize | flamegraph.pl > profile.svg\n"
			"  nsprof symbolize --by container -o host.folded host.data\n"
			"  nsprof symbolize --split-by container --filter time=60-120 -o minute host.data\n"
			"\n"
			"Frames in brackets have no name: [libx.so] an address in libx.so, [jit] code\n"
			"without a perf map, [kernel], [vdso], [no mapping], [deleted:x] a file that is\n"
			"gone; [truncated_stack] and [broken_stack] stand below stacks that are not\n"
			"whole. --stats tells why.\n"
			"\n"
			"Exit status: 0 done; 1 failed, interrupted, or the recording is cut or damaged\n"
			"(what can be read of it is shown); 129 the command line is wrong.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
	};
	int err = symbolize_parse(o, &spec, argc, argv);

	return err ? err : check(&w, o);
}

int main(int argc, char **argv)
{
	struct symbolize_opts o = SYMBOLIZE_OPTS_DEFAULT;
	int err;

	pages_heap(pages_are_slow());
	log_init_for(argv[0], "nsprof symbolize");
	signals_init();
	err = parse(argc, argv, &o);
	if (err == OPT_HELP)
		return EXIT_SUCCESS;
	if (err)
		return EXIT_USAGE;
	if (o.build_info) {
		puts("symbolize: unwind=cached,libunwind,libdw,fp libdw libelf lzma demangle");
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	return symbolize_run(&o);
}
