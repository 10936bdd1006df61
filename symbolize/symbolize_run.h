/* From a recording to text: read, unwind, name, write. What nsprof symbolize and nsprof script have in common. */
#ifndef NSPROF_SYMBOLIZE_RUN_H
#define NSPROF_SYMBOLIZE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "filter.h"
#include "fold.h"
#include "leading.h"
#include "opt.h"
#include "rec_reader.h"
#include "unwind.h"

enum symbolize_format {
	FORMAT_FOLDED, FORMAT_PROFILE, FORMAT_SCRIPT, FORMAT_PPROF, FORMAT_SPEEDSCOPE, FORMAT_FIREFOX, FORMATS,
};

/* Texts are borrowed from the command line. */
struct symbolize_opts {
	const char *input;	/* the recording; "-" is standard input */
	const char *event;	/* of perf.data; NULL: the first that has samples */
	const char *output;	/* NULL or "-" is standard output; a folder with @split */
	enum symbolize_format kind;
	struct lead lead;
	const char *split_by;	/* NULL: one output */
	enum lead_by split;	/* LEAD_NONE: one output */
	enum fold_weight fold;
	struct filter filter;
	const char *unwind, *servers, *symfs, *kallsyms;	/* as on the command line; NULL where not given */
	const struct unwinder_ops *unwinder;
	uint64_t max_stack;	/* frames */
	bool annotate, inlines, demangle, normalize, srcline, debuginfod, cache, stats, strict, quiet;
	int verbose;
	/* of a script */
	uint32_t fields;	/* enum script_field; 0: the default */
	bool header, header_only, ns, reltime, deltatime;
	bool build_info;
};

/* What both commands begin with. */
#define SYMBOLIZE_OPTS_DEFAULT                                                                     \
	{                                                                                          \
		.unwind = "cached", .max_stack = MAXSTACK_DEFAULT, .inlines = true, .demangle = true, .cache = true, \
	}

/* The options that both commands have, for their tables; @o is a struct symbolize_opts *. */
#define SYMBOLIZE_INPUT_OPTS(o)                                                                    \
	{ "input", 'i', "FILE",                                                                    \
	  "the recording, '-' for standard input (default: that if it is a pipe, else nsprof.data)", OPT_STR, \
	  &(o)->input, NULL },                                                                     \
	{ "event", 0, "NAME", REC_READER_EVENT_HELP, OPT_STR, &(o)->event, NULL }
#define SYMBOLIZE_FILTER_OPTS(o)                                                                   \
	{ "filter", 0, "KEY=VALUE",                                                                \
	  "only samples with this container, cgroup, comm (globs), pid, nspid, tid, or time=FROM-TO " \
	  "(seconds); all keys must fit, of one key any", OPT_CALL, &(o)->filter, symbolize_add_filter }, \
	{ "comms", 'c', "COMM,...", "only samples of these, as --filter comm=", OPT_CALL, &(o)->filter, \
	  symbolize_add_comms },                                                                   \
	{ "pid", 0, "PID,...", "the same of these processes", OPT_CALL, &(o)->filter, symbolize_add_pids }, \
	{ "tid", 0, "TID,...", "the same of these threads", OPT_CALL, &(o)->filter, symbolize_add_tids }, \
	{ "time", 0, "FROM,TO",                                                                    \
	  "only samples of this time, in seconds as nsprof script shows them, or a part: 10%/2, 0%-20%", OPT_CALL, \
	  &(o)->filter, symbolize_add_span },                                                      \
	{ "merge-threads", 0, NULL, "one name for threads that differ by numbers: worker-N", OPT_FLAG, \
	  &(o)->lead.merge_threads, NULL }
#define SYMBOLIZE_NAME_OPTS(o)                                                                     \
	{ "inline", 0, NULL, "show inlined functions (default; --no-inline: only real ones)", OPT_FLAG, \
	  &(o)->inlines, NULL },                                                                   \
	{ "demangle", 0, NULL, "C++, Rust, D and Java names as in the source (default; --no-demangle: raw)", OPT_FLAG, \
	  &(o)->demangle, NULL },                                                                  \
	{ "normalize", 0, NULL, "leave out what a rebuild changes: .constprop.0, .llvm.N, hashes, lambda numbers", \
	  OPT_FLAG, &(o)->normalize, NULL },                                                       \
	{ "debug-dir", 0, "DIR", "look for debug files in DIR as well as in /usr/lib/debug; may be repeated", OPT_CALL, \
	  NULL, symbolize_add_debug_dir },                                                         \
	{ "symfs", 0, "DIR", "look for binaries and debug files below DIR instead of on this host", OPT_STR, \
	  &(o)->symfs, NULL },                                                                     \
	{ "kallsyms", 0, "FILE", "take the kernel's names from there, as /proc/kallsyms has them", OPT_STR, \
	  &(o)->kallsyms, NULL },                                                                  \
	{ "debuginfod", 0, "[URLS]", "fetch debug info from these servers (default $DEBUGINFOD_URLS)", OPT_CALL, (o), \
	  symbolize_use_debuginfod },                                                              \
	{ "cache", 0, NULL,                                                                        \
	  "keep what large debug info says for the next time (default; --no-cache: neither read nor write)", OPT_FLAG, \
	  &(o)->cache, NULL }
#define SYMBOLIZE_STACK_OPTS(o)                                                                    \
	{ "max-stack", 0, "N", "frames kept of a stack, from the leaf (default 1024, at most 65536)", OPT_CALL, \
	  &(o)->max_stack, maxstack_parse },                                                       \
	{ "unwind", 0, "HOW", "cached, libunwind, libdw or fp (default cached)", OPT_STR, &(o)->unwind, NULL }
#define SYMBOLIZE_REST_OPTS(o)                                                                     \
	{ "stats", 0, NULL, "tell on standard error how stacks ended and what had no name, and why", OPT_FLAG, \
	  &(o)->stats, NULL },                                                                     \
	{ "proc", 0, "DIR", "where /proc of the recorded host is seen (default /proc)", OPT_CALL, NULL, \
	  nsopen_use_proc },                                                                       \
	{ "strict", 0, NULL, "show nothing of a recording that is cut or damaged", OPT_FLAG, &(o)->strict, NULL }, \
	{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &(o)->quiet, NULL },                        \
	{ "build-info", 0, NULL, NULL, OPT_FLAG, &(o)->build_info, NULL }

/* For OPT_CALL in these. 0, or -EINVAL after a message. */
int symbolize_add_filter(void *filter, const char *arg);
int symbolize_add_comms(void *filter, const char *arg);
int symbolize_add_pids(void *filter, const char *arg);
int symbolize_add_tids(void *filter, const char *arg);
int symbolize_add_span(void *filter, const char *arg);
int symbolize_add_debug_dir(void *unused, const char *arg);
int symbolize_use_debuginfod(void *opts, const char *arg);

/*
 * Parses, and checks what all of these options say: 0, OPT_HELP, or -EINVAL after a message. What is left of the
 * command line is the recording.
 */
int symbolize_parse(struct symbolize_opts *o, const struct opt_spec *spec, int argc, char **argv);
/* Does it all. An exit status, after messages. */
int symbolize_run(struct symbolize_opts *o);

#endif
