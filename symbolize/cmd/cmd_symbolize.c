/* nsprof-symbolize: turns a recording into folded stacks with names, and into other formats. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/maxstack.h"
#include "cli/opt.h"
#include "cmd/script_perf_opts.h"
#include "cmd/symbolize_run.h"
#include "host/nsopen.h"
#include "host/pages.h"
#include "output/to_folded.h"
#include "profile/lead_frames.h"

static const char *const formats[FORMATS] = { "folded", "profile", "script", "pprof", "speedscope", "firefox" };

/* Option values as given, before they are parsed. */
struct words {
	const char *format, *by, *split_by, *weight;
};

static int check_split(const struct words *w, struct symbolize_opts *o)
{
	if (!w->split_by)
		return 0;
	if (lead_parse_kind(w->split_by, strlen(w->split_by), &o->split) || o->split == LEAD_NONE) {
		pr_err("invalid value '%s' for --split-by; it takes container, process, thread, comm, event or state", w->split_by);
		return -EINVAL;
	}
	if (!o->output || !strcmp(o->output, "-")) {
		pr_err("--split-by writes several files: name their folder with -o DIR");
		return -EINVAL;
	}
	o->split_by = w->split_by;
	return 0;
}

/*
 * A profile always holds threads and both weights, so options that choose among these would do
 * nothing.
 */
static int check_format(const struct words *w, struct symbolize_opts *o)
{
	const char *given = w->by ? "--by" : w->split_by ? "--split-by" : o->annotate ? "--annotate" : NULL;

	for (o->kind = 0; o->kind < FORMATS && strcmp(w->format, formats[o->kind]); o->kind++)
		;
	if (o->kind == FORMATS) {
		pr_err("unknown format '%s'; --format takes folded, profile, script, pprof, speedscope or firefox", w->format);
		return -EINVAL;
	}
	if (given && o->kind != FORMAT_FOLDED) {
		pr_err("%s works with --format folded only: a %s always holds everything", given, w->format);
		return -EINVAL;
	}
	if (w->weight && o->kind != FORMAT_FOLDED && o->kind != FORMAT_SPEEDSCOPE && o->kind != FORMAT_FIREFOX) {
		pr_err("--weight works with --format folded, speedscope and firefox only: a %s holds both samples and periods", w->format);
		return -EINVAL;
	}
	return 0;
}

/* Formats that are not for reading are not written to a terminal. */
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
		pr_err("invalid value '%s' for --by; it takes comm, process, thread, container, event, field:NAME, state or none, each at most once, "
		       "separated by commas", by);
		return -EINVAL;
	}
	if (o->keep && o->kind != FORMAT_PROFILE) {
		pr_err("--with-fields works with --format profile only; --by field:NAME is for folded text");
		return -EINVAL;
	}
	if (lead_has(&o->lead, LEAD_FIELD))
		o->keep = xstrndup(o->lead.field, strcspn(o->lead.field, ","));
	if (check_split(w, o) || !check_terminal(o))
		return -EINVAL;
	if (w->weight && fold_parse_weight(w->weight, &o->fold)) {
		pr_err("unknown weight '%s'; --weight takes samples or period", w->weight);
		return -EINVAL;
	}
	return 0;
}

static const char of_script[] = "nsprof script has it";

static int parse(int argc, char **argv, struct symbolize_opts *o)
{
	struct words w = { .format = "folded" };
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		SYMBOLIZE_INPUT_OPTS(o,
			"By default folded text and Firefox profiles hold the first event, and a message "
			"names the others. The other formats hold all."),

		OPT_GROUP("Output"),
		{ "format", 0, "FORMAT",
		  "write folded (default), profile, script, pprof, speedscope, firefox", OPT_STR,
		  &w.format, .value = "folded|profile|script|pprof|speedscope|firefox",
		  .more =
			"- folded: one line per stack, for flamegraph.pl and others.\n"
			"- profile: stacks by thread and by time, with the files and kinds of "
			"functions and what is known of the recording, to be kept and to be "
			"read by nsprof-report(1) and nsprof-diff(1). See nsprof.profile(5). It "
			"holds what --by, --split-by, --weight and --annotate choose from, so "
			"they cannot be combined with it.\n"
			"- script: each sample, as nsprof-script(1) prints it.\n"
			"- pprof: pprof's gzipped profile.proto with samples and CPU time, the "
			"labels pid, tid, comm, container and cgroup, and the build-ids of "
			"binaries. With several events, each has these two values.\n"
			"- speedscope: JSON for speedscope, with one profile per event and thread.\n"
			"- firefox: a processed profile for the Firefox Profiler "
			"(profiler.firefox.com opens it from a file). See FIREFOX." },
		{ "output", 'o', "FILE", "write to this file; with --split-by, to this folder",
		  OPT_STR, &o->output, .value = OPT_VALUE_FILE,
		  .more =
			"The default is standard output. An existing file is replaced only when "
			"the new one is complete." },
		{ "by", 0, "LIST", "put these frames in front of stacks (default: comm)", OPT_STR,
		  &w.by, .value = ",comm|process|thread|container|event|field:|state|none",
		  .more =
			"One or several, separated by commas, in this order, each at most once: "
			"container,process,thread.\n\n"
			"- comm: the thread's name.\n"
			"- process: NAME-PID. From one exec to the next, a process has one "
			"name: the last one of its main thread.\n"
			"- thread: the thread's name, then -PID/TID.\n"
			"- container: the container, see CONTAINERS. Alone it is followed by "
			"the thread's name, like container,comm; container,none omits that. "
			"[runtime_helper] follows it if the process belongs to the runtime.\n"
			"- event: the event, of a recording with several. Alone it is followed by the "
			"thread's name. Counts below it are in the event's own unit: samples, or "
			"events if their periods vary.\n"
			"- field:NAME: NAME=VALUE, a field of a tracepoint recorded with --fields. See "
			"FIELDS in nsprof-script(1). Alone it is followed by the thread's name.\n"
			"- state: what the thread does, of an event that has states: [blocked], "
			"[runnable], [throttled], [running]. Without it, the state is the last "
			"frame. See OFF-CPU TIME.\n"
			"- none: no frame." },
		{ "split-by", 0, "WHAT", "write one file per container, process, thread, comm, event or state",
		  OPT_STR, &w.split_by, .value = "container|process|thread|comm|event|state",
		  .more =
			"The files go to the folder of -o, which is created if needed. They are "
			"named after the frames of --by, with .folded appended. Characters "
			"other than letters, digits and ._-+@: become _, leading dots and "
			"dashes are removed, brackets around a name too, and of a long name the "
			"end is kept. A name that is already taken gets a number; names that "
			"need no change come first. Existing files of the same name are "
			"replaced, others stay." },
		{ "weight", 0, "WHAT", "count samples or period (default: period if it varies)",
		  OPT_STR, &w.weight, .value = "samples|period",
		  .more =
			"For folded text, speedscope and Firefox profiles. "
			OPT_COMMON_WEIGHT_MORE
			" The kernel starts such an event with period 1 and adapts it, so the "
			"first few samples of each event stand for next to nothing." },
		{ "with-fields", 0, "NAME,...", "keep these fields of tracepoints in a profile", OPT_STR,
		  &o->keep,
		  .more =
			"With --format profile. nsprof report can then have rows and leading frames for "
			"their values. There is a count for each combination of them." },
		{ "annotate", 0, NULL,
		  "append _[k], _[j], _[i], _[joined] to frames of these kinds", OPT_FLAG,
		  &o->annotate,
		  .more =
			"_[k] marks kernel frames, _[j] JIT frames and _[i] inlined ones, as "
			"flamegraph.pl knows them. _[joined] comes first and marks frames that "
			"were not in the stack copy but are known from an earlier stack of the "
			"thread." },
		{ "srcline", 0, NULL, "append the source line to frames: parse (input.c:120)",
		  OPT_FLAG, &o->srcline,
		  .more =
			"Only frames with debug info have one. The innermost frame has the line "
			"that was executed, every other frame that of its call, inlined ones "
			"too. The file is printed without its folder. With lines there are more "
			"different stacks. JIT code has the lines in its jitdump." },

		OPT_GROUP("Samples"),
		SYMBOLIZE_FILTER_OPTS(o),
		OPT_COMMON_ALL_WAITS(&o->all_waits),

		OPT_GROUP("Stacks and names"),
		SYMBOLIZE_STACK_OPTS(o),
		SYMBOLIZE_NAME_OPTS(o),

		OPT_GROUP("Where names come from"),
		SYMBOLIZE_SOURCE_OPTS(o),

		OPT_GROUP("Messages"),
		SYMBOLIZE_REST_OPTS(o),
		{ "verbose", 'v', NULL, "print more messages, and offsets in [libx.so+0x1234]",
		  OPT_COUNT, &o->verbose, .more = NULL },

		/* Hidden. */
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o->build_info, .more = NULL },
		/* For nsprof diff, which joins the waits of parked threads in all inputs alike. */
		{ "keep-parked", 0, NULL, NULL, OPT_FLAG, &o->keep_parked, .more = NULL },
		{ "fields", 'F', "LIST", of_script, OPT_REFUSE, NULL, .more = NULL },
		{ "header", 0, NULL, of_script, OPT_REFUSE, NULL, .more = NULL },
		{ "header-only", 0, NULL, of_script, OPT_REFUSE, NULL, .more = NULL },
		{ "show-info", 'I', NULL, of_script, OPT_REFUSE, NULL, .more = NULL },
		{ "ns", 0, NULL, of_script, OPT_REFUSE, NULL, .more = NULL },
		{ "reltime", 0, NULL, of_script, OPT_REFUSE, NULL, .more = NULL },
		{ "deltatime", 0, NULL, of_script, OPT_REFUSE, NULL, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof symbolize [options] [FILE]",
		.summary =
			"Turn a recording into folded stacks, one line per stack with its count, root first, or into another format. Names "
			"come from the process while it lives, from files on this host whose build-id proves that they are the recorded "
			"ones, or from the recording itself.",
		.epilog =
			"Examples:\n"
			"  nsprof symbolize | flamegraph.pl > profile.svg\n"
			"  nsprof symbolize --by container -o host.folded host.data\n"
			"  nsprof symbolize --split-by container --filter time=60-120 -o minute host.data\n"
			"\n"
			"Frames in brackets have no name: [libx.so] is an address in libx.so, [jit] code without a perf\n"
			"map, [deleted:x] a file that is gone; also [kernel], [vdso] and [no mapping].\n"
			"[truncated_stack] and [broken_stack] are below stacks that are incomplete. --stats says why.\n"
			"\n"
			"Exit status: 0 success; 1 failure, interrupted, or the recording is cut or damaged (what can be\n"
			"read of it is shown); 129 wrong command line.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
		.operands = OPT_VALUE_RECORDING,
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
