/*
 * Table entries (opt.h) for options that several commands share. @to is struct opt's dst, @take its
 * call, @and the text that the manual page adds to the common text.
 */
#ifndef NSPROF_OPT_COMMON_H
#define NSPROF_OPT_COMMON_H

#include "cli/opt.h"

/* ---- input and output ---- */

#define OPT_COMMON_INPUT(to)									\
	{ "input", 'i', "FILE",									\
	  "read this recording, - for standard input (default: nsprof.data)", OPT_STR, to,	\
	  .value = OPT_VALUE_RECORDING,								\
	  .more =										\
		"FILE as an argument means the same. With neither, nsprof reads standard "	\
		"input if that is a pipe, and nsprof.data otherwise. FILE can also be a "	\
		"perf.data." }
#define OPT_COMMON_EVENT_FIRST "The default is the first event that has samples; a message names the others."
#define OPT_COMMON_EVENT(to, and)								\
	{ "event", 0, "NAME", "use this one of several events", OPT_STR, to,			\
	  .more =										\
		"NAME is the event's name, with or without its modifier, or the beginning or "	\
		"end of one that only one event has: sched_switch for sched:sched_switch. "	\
		and }
#define OPT_COMMON_OUTPUT(to)									\
	{ "output", 'o', "FILE", "write to this file instead of standard output", OPT_STR, to,	\
	  .value = OPT_VALUE_FILE,								\
	  .more = "An existing file is replaced only when the new one is complete." }
#define OPT_COMMON_STRICT(to, help_text)							\
	{ "strict", 0, NULL, help_text, OPT_FLAG, to, .more = NULL }

/* ---- samples ---- */

#define OPT_COMMON_ALL_WAITS(to)								\
	{ "all", 0, NULL, "show all off-CPU time, also of idle and kernel threads", OPT_FLAG, to,	\
	  .more =										\
		"By default, a stack at which a thread was for 90 % of the recording or more "	\
		"is replaced by [parked] and what it waits for, and kernel threads are left out." }

#define OPT_COMMON_FILTER(to, take)								\
	{ "filter", 0, "KEY=VALUE", "use only matching samples: container=web, time=10-20, ...", \
	  OPT_CALL, to, take, .value = ",container=|cgroup=|comm=|pid=|nspid=|tid=|time=|state=", \
	  .more =										\
		"The option can be repeated, and one VALUE can hold several conditions, "	\
		"separated by commas or blanks. A sample matches if it meets a condition for "	\
		"every KEY that is given. If nothing matches, that is an error, and the "	\
		"message lists the candidates.\n\n"						\
		"- container, cgroup, comm: the text, or a pattern with * ? or [...], where * "	\
		"also matches slashes. container is the name as shown, comm the thread's own "	\
		"name.\n"									\
		"- pid, nspid, tid: a number. nspid is the process's number in its own pid "	\
		"namespace, pid and tid are those that the recorder saw.\n"			\
		"- time: FROM-TO, FROM- or -TO, in seconds since the recording began. FROM is "	\
		"included, TO is not.\n"							\
		"- state: running, runnable, blocked or throttled. What is not off-cpu or wall "	\
		"is running. script and the Firefox Profiler show samples before this is known.\n\n" \
		"A filter changes no stack, and counts of losses stay those of the whole "	\
		"recording. In a saved profile, times are rounded to its blocks." }
#define OPT_COMMON_COMMS(to, take)								\
	{ "comms", 'c', "COMM,...", "use only samples of threads with these names", OPT_CALL, to, \
	  take, .more = "Like --filter comm=COMM, in perf's spelling." }
#define OPT_COMMON_PID(to, take)								\
	{ "pid", 0, "PID,...", "use only samples of these processes", OPT_CALL, to, take,	\
	  .more = "Like --filter pid=PID, in perf's spelling." }
#define OPT_COMMON_TID(to, take)								\
	{ "tid", 0, "TID,...", "use only samples of these threads", OPT_CALL, to, take,		\
	  .more = "Like --filter tid=TID, in perf's spelling." }
#define OPT_COMMON_TIME(to, take, and)								\
	{ "time", 0, "FROM,TO", "use only samples of this time, or of a part: 10%/2, 0%-20%",	\
	  OPT_CALL, to, take,									\
	  .more =										\
		"FROM and TO are seconds of the recording's clock, as shown by "		\
		"nsprof-script(1). Parts are parts of the time from the first sample to the "	\
		"last: 10% is the first tenth, 10%/2 the second tenth, 0%-20%,80%-100% both "	\
		"ends."										\
		and }
#define OPT_COMMON_MERGE_THREADS(to, and)							\
	{ "merge-threads", 0, NULL,								\
	  "use one name for threads that differ only by numbers: worker-N", OPT_FLAG, to,	\
	  .more =										\
		"Digits at the end of a name, and digits that do not follow a letter, become "	\
		"N: worker-12 is worker-N, pool-3-thread-1 is pool-N-thread-N. A name that is "	\
		"the program's own (python3) stays, and so does a name without letters."	\
		and }

#define OPT_COMMON_WEIGHT_MORE									\
	"period counts the events that samples stand for (CPU time in ns, for clocks). It is the default where it varies from sample to " \
	"sample, as with nsprof record -F and a hardware event. Where it is fixed, as with a clock or -c, samples are counted."

/* ---- stacks and names ---- */

#define OPT_COMMON_MAX_STACK(to, take, and)							\
	{ "max-stack", 0, "N",									\
	  "keep at most N frames of each stack, from the leaf (default: 1024)", OPT_CALL, to,	\
	  take, .more = "At most 65536." and }
#define OPT_COMMON_UNWIND(to)									\
	{ "unwind", 0, "HOW", "unwind with cached, libunwind, libdw or fp (default: cached)",	\
	  OPT_STR, to, .value = "cached|libunwind|libdw|fp",					\
	  .more =										\
		"cached is nsprof's own unwinder. libunwind and libdw are libraries to "	\
		"compare it with. fp follows frame pointers only." }
#define OPT_COMMON_NO_INLINE_HELP "leave out inlined functions; their samples count for the caller"
#define OPT_COMMON_NO_INLINE(to, text) { "no-inline", 0, NULL, OPT_COMMON_NO_INLINE_HELP, OPT_FLAG, to, .more = text }
#define OPT_COMMON_DEMANGLE(to, text)								\
	{ "demangle", 0, NULL, "show mangled names, as they are in the binary", OPT_SWITCH, to,	\
	  .more = text }
#define OPT_COMMON_DEBUG_DIR(take)								\
	{ "debug-dir", 0, "DIR", "also look for debug files in this folder of the host", OPT_CALL, \
	  NULL, take, .value = OPT_VALUE_FOLDER,						\
	  .more =										\
		"The container's own debug files and /usr/lib/debug come first. In DIR, "	\
		"nsprof looks for .build-id/ab/cdef.debug, for the name in .gnu_debuglink, "	\
		"for .dwz files, and for split debug info (NAME.dwo, BINARY.dwp). A file is "	\
		"used only if its build-id (or, without a build-id, the CRC of the link) "	\
		"proves that it belongs to the binary. The option can be repeated." }
#define OPT_COMMON_DEBUGINFOD(to, take)								\
	{ "debuginfod", 0, "[URLS]", "fetch missing debug info from these servers", OPT_CALL, to, \
	  take,											\
	  .more =										\
		"URLS are separated by blanks. The default is $DEBUGINFOD_URLS. Without this "	\
		"option nsprof asks no server. Files are kept in the cache of libdebuginfod "	\
		"($DEBUGINFOD_CACHE_PATH), and what a server did not have is not asked for "	\
		"again for ten minutes. A server that is silent for 5 seconds, or slower than "	\
		"10 KB/s for 10 seconds ($DEBUGINFOD_TIMEOUT), is not asked again in this "	\
		"run. A separate process asks the servers, so these limits and Ctrl-C work "	\
		"with every version of libdebuginfod." }
#define OPT_COMMON_CACHE(to)									\
	{ "cache", 0, NULL, "neither read nor write the cache of debug info", OPT_SWITCH, to,	\
	  .more =										\
		"The cache in ~/.cache/nsprof keeps what large debug info said about the "	\
		"addresses of earlier runs. See FILES in nsprof-symbolize(1)." }
#define OPT_COMMON_PROC(kind, to, take)								\
	{ "proc", 0, "DIR", "find /proc of the recorded host here (default: /proc)", kind, to,	\
	  take, .value = OPT_VALUE_FOLDER, .more = NULL }

/* ---- messages ---- */

#define OPT_COMMON_QUIET(to) { "quiet", 'q', NULL, "print errors only", OPT_FLAG, to, .more = NULL }
#define OPT_COMMON_NO_SANDBOX_PARSER "By default a process without rights reads the recording and the files of others."
#define OPT_COMMON_NO_SANDBOX_INPUT "By default a process without rights reads the input."
#define OPT_COMMON_NO_SANDBOX(to, text) \
	{ "no-sandbox", 0, NULL, "keep all rights", OPT_FLAG, to, .more = text }
#define OPT_COMMON_VERBOSE(to) { "verbose", 'v', NULL, "print more messages", OPT_COUNT, to, .more = NULL }

#endif
