/*
 * From a recording to text: read, unwind, name, write. Shared by nsprof symbolize and nsprof
 * script.
 */
#ifndef NSPROF_SYMBOLIZE_RUN_H
#define NSPROF_SYMBOLIZE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/opt.h"
#include "cli/opt_common.h"
#include "output/to_folded.h"
#include "profile/filter.h"
#include "profile/lead_frames.h"
#include "recording/rec_reader.h"
#include "unwind/unwind.h"

enum symbolize_format {
	FORMAT_FOLDED, FORMAT_PROFILE, FORMAT_SCRIPT, FORMAT_PPROF, FORMAT_SPEEDSCOPE, FORMAT_FIREFOX, FORMATS,
};

/* Texts are borrowed from the command line. */
struct symbolize_opts {
	const char *input;	/* the recording; "-" is standard input */
	const char *event;	/* NULL: the default of the format */
	const char *output;	/* NULL or "-" is standard output; a folder with @split */
	enum symbolize_format kind;
	struct lead lead;
	const char *split_by;	/* NULL: one output */
	enum lead_by split;	/* LEAD_NONE: one output */
	enum fold_weight fold;
	struct filter filter;
	const char *unwind, *servers, *symfs, *kallsyms;	/* as given; NULL: not given */
	const struct unwinder_ops *unwinder;
	uint64_t max_stack;	/* frames */
	bool all_waits, keep_parked;
	bool annotate, inlines, demangle, normalize, srcline, debuginfod, cache, stats, strict, quiet, no_sandbox;
	int verbose;
	/* for nsprof script */
	uint32_t fields;	/* enum script_field; 0: the default */
	bool header, header_only, ns, reltime, deltatime;
	const char *keep;	/* fields of tracepoints: "a,b"; NULL: none */
	bool build_info;
};

/* Initial values for both commands. */
#define SYMBOLIZE_OPTS_DEFAULT									\
	{											\
		.unwind = "cached", .max_stack = MAXSTACK_DEFAULT, .inlines = true, .demangle = true, .cache = true, \
	}

/* Option table entries of both commands; @o is a struct symbolize_opts *. */
#define SYMBOLIZE_INPUT_OPTS(o, and)								\
	OPT_COMMON_INPUT(&(o)->input), OPT_COMMON_EVENT(&(o)->event, and),			\
	OPT_COMMON_STRICT(&(o)->strict, "show nothing of a recording that is cut or damaged")
#define SYMBOLIZE_FILTER_OPTS(o)								\
	OPT_COMMON_FILTER(&(o)->filter, symbolize_add_filter),					\
	OPT_COMMON_COMMS(&(o)->filter, symbolize_add_comms),					\
	OPT_COMMON_PID(&(o)->filter, symbolize_add_pids),					\
	OPT_COMMON_TID(&(o)->filter, symbolize_add_tids),					\
	OPT_COMMON_TIME(&(o)->filter, symbolize_add_span, " For parts, the recording is read twice.")
#define SYMBOLIZE_NAME_OPTS(o)									\
	{ "inline", 0, NULL, OPT_COMMON_NO_INLINE_HELP, OPT_SWITCH, &(o)->inlines, .more = NULL }, \
	OPT_COMMON_DEMANGLE(&(o)->demangle,							\
		"C++, Rust and D names as the linker sees them, and Java names as agents that write jitdumps leave them " \
		"(\"Ljava/lang/String;charAt(I)C\" instead of \"java.lang.String.charAt(int)\"). By default names are as in the source. " \
		"What a compiler appends for a part of a function stays visible (\"f(int) [clone .cold]\"). Rust's hashes, and ThinLTO's " \
		".llvm.N after Rust functions, do not."),					\
	{ "normalize", 0, NULL,									\
	  "remove what a rebuild changes from names: .constprop.0, hashes, ...", OPT_FLAG,	\
	  &(o)->normalize,									\
	  .more =										\
		"Profiles of two builds then compare. Removed are .cold, .part.N, "		\
		".constprop.N, .isra.N, .lto_priv.N, .llvm.N, .__uniq.N, .__part.N of basic "	\
		"block sections, .warm and .cold.N of BOLT, Rust's hashes, numbers of "		\
		"lambdas, addresses in names of hidden Java classes and in place of names, "	\
		"and offsets in frames without a name and after names." },			\
	OPT_COMMON_MERGE_THREADS(&(o)->lead.merge_threads, " With --by thread the thread's number is N, too.")
#define SYMBOLIZE_SOURCE_OPTS(o)								\
	OPT_COMMON_DEBUG_DIR(symbolize_add_debug_dir),						\
	{ "symfs", 0, "DIR", "look for binaries and debug files only below this folder", OPT_STR, \
	  &(o)->symfs, .value = OPT_VALUE_FOLDER,						\
	  .more =										\
		"DIR is a copy of the recorded host's files. They have to prove by build-id "	\
		"that they are the recorded ones, like others." },				\
	{ "kallsyms", 0, "FILE", "read the kernel's names from this file, like /proc/kallsyms",	\
	  OPT_STR, &(o)->kallsyms, .value = OPT_VALUE_FILE,					\
	  .more = "By default they come from the recording." },					\
	OPT_COMMON_DEBUGINFOD(o, symbolize_use_debuginfod),					\
	OPT_COMMON_CACHE(&(o)->cache),								\
	OPT_COMMON_PROC(OPT_CALL, NULL, nsopen_use_proc)
#define SYMBOLIZE_STACK_OPTS(o)									\
	OPT_COMMON_MAX_STACK(&(o)->max_stack, maxstack_parse, ""), OPT_COMMON_UNWIND(&(o)->unwind)
#define SYMBOLIZE_REST_OPTS(o)									\
	{ "stats", 0, NULL, "print how stacks ended, and what has no name and why", OPT_FLAG,	\
	  &(o)->stats,										\
	  .more =										\
		"On standard error: how stacks ended; which callers and names are missing, by "	\
		"binary, with samples, reason and remedy; where names were looked for; names "	\
		"by source; losses." },								\
	OPT_COMMON_NO_SANDBOX(&(o)->no_sandbox, OPT_COMMON_NO_SANDBOX_PARSER), \
	OPT_COMMON_QUIET(&(o)->quiet)

/* Callbacks for OPT_CALL in the tables above. 0, or -EINVAL after a message. */
int symbolize_add_filter(void *filter, const char *arg);
int symbolize_add_comms(void *filter, const char *arg);
int symbolize_add_pids(void *filter, const char *arg);
int symbolize_add_tids(void *filter, const char *arg);
int symbolize_add_span(void *filter, const char *arg);
int symbolize_add_debug_dir(void *unused, const char *arg);
int symbolize_use_debuginfod(void *opts, const char *arg);

/*
 * Parses and checks these options. The remaining argument, if any, is the recording. 0, OPT_HELP,
 * or -EINVAL after a message.
 */
int symbolize_parse(struct symbolize_opts *o, const struct opt_spec *spec, int argc, char **argv);
/* Runs the whole command. Returns an exit status, after messages. */
int symbolize_run(struct symbolize_opts *o);

#endif
