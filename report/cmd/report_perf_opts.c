#include "cmd/report_perf_opts.h"

#include "base/util.h"

#define MOOT(name, shrt, arg) { name, shrt, arg, NULL, OPT_IGNORE, NULL, .call = NULL }
#define REFUSED(name, shrt, arg, why) { name, shrt, arg, why, OPT_REFUSE, NULL, .call = NULL }

static const char no_branches[] = "recordings have no branch records";
static const char no_memory[] = "recordings have no data addresses";
static const char no_traces[] = "recordings have no hardware traces";
static const char no_records[] = "nsprof info shows what a recording holds";
static const char no_switch[] = "--filter time=FROM-TO selects a time";
static const char one_function[] = "--focus NAME shows one function, with its callers and callees";
static const char no_parallelism[] = "the number of threads running at a time is not recorded; -s tid has a row for each thread, --format html shows them over time";
static const char no_modes[] = "samples are not split by mode; each symbol is marked as kernel or user";
static const char by_lines[] = "--filter selects samples, and grep selects lines";

const struct opt perf_opts[] = {
	/* Always on, or the only way. */
	MOOT("stdio", 0, NULL),
	MOOT("force", 'f', NULL),
	MOOT("header", 0, NULL),
	MOOT("show-info", 'I', NULL),
	MOOT("modules", 'm', NULL),
	MOOT("inline", 0, NULL),
	MOOT("no-call-graph", 0, NULL),
	MOOT("demangle-kernel", 0, NULL),
	MOOT("full-source-path", 0, NULL),
	MOOT("ignore-vmlinux", 0, NULL),
	MOOT("group", 0, NULL),
	MOOT("group-sort-idx", 0, "N"),
	MOOT("skip-empty", 0, NULL),
	MOOT("column-widths", 'w', "WIDTHS"),
	MOOT("pretty", 0, "KEY"),
	MOOT("raw-trace", 0, NULL),
	MOOT("ns", 0, NULL),
	MOOT("disable-order", 0, NULL),
	/* For perf's disassembly. */
	MOOT("source", 0, NULL),
	MOOT("asm-raw", 0, NULL),
	MOOT("disassembler-style", 'M', "STYLE"),
	MOOT("objdump", 0, "FILE"),
	MOOT("addr2line", 0, "FILE"),
	MOOT("addr2line-style", 0, "STYLE"),
	MOOT("prefix", 0, "PREFIX"),
	MOOT("prefix-strip", 0, "N"),
	MOOT("samples", 0, "N"),

	REFUSED("tui", 0, NULL, "--format html writes a page to work with"),
	REFUSED("gtk", 0, NULL, "--format html writes a page to work with"),
	REFUSED("hierarchy", 'H', NULL, "-s KEYS has a row for each combination, -g is the call tree"),
	REFUSED("show-total-period", 0, NULL, "--weight period shows it instead of samples"),
	REFUSED("vmlinux", 'k', "FILE", "the recording has the kernel's names"),
	REFUSED("kallsyms", 0, "FILE", "the recording has the kernel's names; nsprof symbolize takes others"),
	REFUSED("symfs", 0, "DIR", "nsprof symbolize --symfs DIR --format profile makes a file to report"),
	REFUSED("symbol-filter", 0, "NAME", one_function),
	REFUSED("parent", 'p', "REGEX", one_function),
	REFUSED("exclude-other", 'x', NULL, one_function),
	REFUSED("ignore-callees", 0, "REGEX", one_function),
	REFUSED("hide-unresolved", 'U', NULL, by_lines),
	REFUSED("cpu", 'C', "LIST", "reports are not split by CPU; record with -C LIST"),
	REFUSED("latency", 0, NULL, no_parallelism),
	REFUSED("parallelism", 0, "LEVELS", no_parallelism),
	REFUSED("unwind-style", 0, "STYLE", "nsprof symbolize --unwind HOW --format profile makes a file to report"),
	REFUSED("socket-filter", 0, "N", "reports are not split by CPU"),
	REFUSED("show-cpu-utilization", 0, NULL, no_modes),
	REFUSED("showcpuutilization", 0, NULL, no_modes),
	REFUSED("percentage", 0, "OF", "shares are of the samples that the filters keep"),
	REFUSED("percent-type", 0, "TYPE", "shares are of all samples shown"),
	REFUSED("time-quantum", 0, "TIME", "--format html has the samples over time"),
	REFUSED("threads", 'T', NULL, "-s tid has a row for each thread"),
	REFUSED("show-ref-call-graph", 0, NULL, "stacks are taken in the same way for all events"),
	REFUSED("dump-raw-trace", 'D', NULL, no_records),
	REFUSED("tasks", 0, NULL, no_records),
	REFUSED("mmaps", 0, NULL, no_records),
	REFUSED("branch-stack", 'b', NULL, no_branches),
	REFUSED("branch-history", 0, NULL, no_branches),
	REFUSED("total-cycles", 0, NULL, no_branches),
	REFUSED("stitch-lbr", 0, NULL, no_branches),
	REFUSED("mem-mode", 0, NULL, no_memory),
	REFUSED("itrace", 0, "[OPTIONS]", no_traces),
	REFUSED("switch-on", 0, "EVENT", no_switch),
	REFUSED("switch-off", 0, "EVENT", no_switch),
	REFUSED("show-on-off-events", 0, NULL, no_switch),
};
const size_t perf_nopts = ARRAY_SIZE(perf_opts);

const struct opt perf_diff_opts[] = {
	MOOT("modules", 'm', NULL),

	REFUSED("compute", 'c', "HOW", "functions are sorted by the size of their change, as with delta-abs"),
	REFUSED("sort", 's', "KEYS", "functions are compared; --filter selects threads"),
	REFUSED("baseline-only", 'b', NULL, "new functions are listed like other changes; --format csv and grep select lines"),
	REFUSED("formula", 'F', NULL, "nsprof-diff(1) explains what is computed"),
	REFUSED("period", 'p', NULL, "--per second and --scale compare amounts"),
	REFUSED("field-separator", 't', "CHAR", "use --format csv"),
	REFUSED("order", 0, "N", "functions are sorted by the size of their change"),
	REFUSED("comms", 'C', "COMM,...", "use --filter comm=COMM"),
	REFUSED("pid", 0, "PID,...", "use --filter pid=PID"),
	REFUSED("tid", 0, "TID,...", "use --filter tid=TID"),
	REFUSED("time", 0, "SPAN", "use --filter time=FROM-TO"),
	REFUSED("dsos", 'd', "FILES", by_lines),
	REFUSED("symbols", 'S', "NAMES", by_lines),
	REFUSED("cpu", 0, "LIST", "reports are not split by CPU"),
	REFUSED("percentage", 0, "OF", "shares are of the samples that the filters keep"),
	REFUSED("dump-raw-trace", 'D', NULL, no_records),
	REFUSED("kallsyms", 0, "FILE", "the recording has the kernel's names"),
	REFUSED("symfs", 0, "DIR", "nsprof symbolize --symfs DIR --format profile makes files to compare"),
	REFUSED("stream", 0, NULL, "--format html shows the stacks of both sides"),
	REFUSED("cycles-hist", 0, NULL, no_branches),
};
const size_t perf_diff_nopts = ARRAY_SIZE(perf_diff_opts);
