#include "cmd/script_perf_opts.h"

#include "base/util.h"

#define MOOT(name, shrt, arg) { name, shrt, arg, NULL, OPT_IGNORE, NULL, .call = NULL }
#define REFUSED(name, shrt, arg, why) { name, shrt, arg, why, OPT_REFUSE, NULL, .call = NULL }

static const char no_records[] = "nsprof info tells what a recording holds";
static const char no_traces[] = "recordings have no traces of the CPU's own";
static const char no_branches[] = "recordings have no branch records";
static const char no_scripts[] = "scripts read the text: nsprof script | SCRIPT";
static const char no_guest[] = "guests are not recorded";
static const char no_cpus[] = "record with -C LIST; the field 'cpu' tells where a sample was taken";
static const char no_frames[] = "stacks are shown whole, up to --max-stack N";
static const char by_name[] = "nsprof report --focus NAME shows one function, and --sort dso,symbol files";
static const char no_types[] = "addresses of data are not recorded, so that types of data are not known";
static const char no_switch[] = "--filter time=FROM-TO picks a time";

const struct opt perf_opts[] = {
	MOOT("force", 'f', NULL),
	MOOT("full-source-path", 0, NULL),
	MOOT("demangle-kernel", 0, NULL),
	MOOT("show-kernel-path", 0, NULL),
	MOOT("debug-mode", 'd', NULL),
	MOOT("addr2line", 0, "FILE"),
	MOOT("merge-callchains", 0, NULL),

	REFUSED("vmlinux", 'k', "FILE", "the recording has the kernel's names; --kallsyms FILE takes others"),
	REFUSED("hide-call-graph", 'G', NULL, "--max-stack 1 shows the leaf alone"),
	REFUSED("unwind-style", 0, "STYLE", "--unwind cached, libunwind, libdw or fp"),
	REFUSED("stop-bt", 0, "NAMES", no_frames),
	REFUSED("cpu", 'C', "LIST", no_cpus),
	REFUSED("all-cpus", 'a', NULL, "nsprof record -a samples all CPUs"),
	REFUSED("symbols", 'S', "NAMES", by_name),
	REFUSED("addr-range", 0, "N", by_name),
	REFUSED("dsos", 0, "FILES", by_name),
	REFUSED("graph-function", 0, "NAMES", by_name),
	REFUSED("dump-raw-trace", 'D', NULL, no_records),
	REFUSED("dump-unsorted-raw-trace", 0, NULL, no_records),
	REFUSED("show-mmap-events", 0, NULL, no_records),
	REFUSED("show-task-events", 0, NULL, no_records),
	REFUSED("show-namespace-events", 0, NULL, no_records),
	REFUSED("show-cgroup-events", 0, NULL, no_records),
	REFUSED("show-lost-events", 0, NULL, no_records),
	REFUSED("show-switch-events", 0, NULL, no_records),
	REFUSED("show-bpf-events", 0, NULL, no_records),
	REFUSED("show-round-events", 0, NULL, no_records),
	REFUSED("show-text-poke-events", 0, NULL, no_records),
	REFUSED("show-on-off-events", 0, NULL, no_switch),
	REFUSED("switch-on", 0, "EVENT", no_switch),
	REFUSED("switch-off", 0, "EVENT", no_switch),
	REFUSED("per-event-dump", 0, NULL, "--event NAME -o FILE writes a file for one event"),
	REFUSED("Latency", 'L', NULL, "nsprof record --off-cpu shows how long threads waited, and why"),
	REFUSED("script", 's', "NAME", no_scripts),
	REFUSED("gen-script", 'g', "LANGUAGE", no_scripts),
	REFUSED("list", 'l', NULL, no_scripts),
	REFUSED("dlfilter", 0, "FILE", no_scripts),
	REFUSED("dlarg", 0, "ARGUMENT", no_scripts),
	REFUSED("list-dlfilters", 0, NULL, no_scripts),
	REFUSED("itrace", 0, "[OPTIONS]", no_traces),
	REFUSED("insn-trace", 0, "[HOW]", no_traces),
	REFUSED("call-trace", 0, "[HOW]", no_traces),
	REFUSED("call-ret-trace", 0, "[HOW]", no_traces),
	REFUSED("xed", 0, "[HOW]", no_traces),
	REFUSED("max-blocks", 0, "N", no_branches),
	REFUSED("stitch-lbr", 0, NULL, no_branches),
	REFUSED("guest-code", 0, NULL, no_guest),
	REFUSED("guestkallsyms", 0, "FILE", no_guest),
	REFUSED("guestmodules", 0, "FILE", no_guest),
	REFUSED("guestmount", 0, "DIR", no_guest),
	REFUSED("guestvmlinux", 0, "FILE", no_guest),
};
const size_t perf_nopts = ARRAY_SIZE(perf_opts);

const struct opt perf_annotate_opts[] = {
	MOOT("stdio", 0, NULL),
	MOOT("stdio2", 0, NULL),
	MOOT("stdio-color", 0, "WHEN"),
	MOOT("force", 'f', NULL),
	MOOT("modules", 'm', NULL),
	MOOT("ignore-vmlinux", 0, NULL),
	MOOT("print-line", 'l', NULL),
	MOOT("full-paths", 'P', NULL),
	MOOT("skip-missing", 0, NULL),
	MOOT("skip-empty", 0, NULL),
	MOOT("group", 0, NULL),
	MOOT("demangle-kernel", 0, NULL),
	MOOT("show-nr-samples", 'n', NULL),
	MOOT("asm-raw", 0, NULL),
	MOOT("objdump", 0, "FILE"),
	MOOT("addr2line", 0, "FILE"),
	MOOT("prefix", 0, "PREFIX"),
	MOOT("prefix-strip", 0, "N"),

	REFUSED("tui", 0, NULL, "the listing is text, and goes through a pager on a terminal"),
	REFUSED("vmlinux", 'k', "FILE", "the recording has the code of the kernel's functions by its names only"),
	REFUSED("cpu", 'C', "LIST", "record with -C LIST; samples are not told apart by CPU later"),
	REFUSED("dsos", 'd', "FILES", "name a function; where several files have one of that name, the message lists them"),
	REFUSED("symfs", 0, "DIR", "code is in the recording; --debug-dir DIR has source lines"),
	REFUSED("dump-raw-trace", 'D', NULL, no_records),
	REFUSED("show-total-period", 0, NULL, "samples are counted here; nsprof report --weight period shows periods"),
	REFUSED("percent-type", 0, "TYPE", "shares are of the function's samples"),
	REFUSED("itrace", 0, "[OPTIONS]", no_traces),
	REFUSED("data-type", 0, "[NAME]", no_types),
	REFUSED("type-stat", 0, NULL, no_types),
	REFUSED("insn-stat", 0, NULL, no_types),
	REFUSED("code-with-type", 0, NULL, no_types),
};
const size_t perf_annotate_nopts = ARRAY_SIZE(perf_annotate_opts);
