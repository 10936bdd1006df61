#include "run/record_perf_opts.h"

#include "base/util.h"

#define MOOT(name, shrt, arg) { name, shrt, arg, NULL, OPT_IGNORE, NULL, .call = NULL }
#define REFUSED(name, shrt, arg, why) { name, shrt, arg, why, OPT_REFUSE, NULL, .call = NULL }

static const char no_memory[] = "addresses of data are not recorded, only where the code was";
static const char no_registers[] = "registers are kept as far as unwinding needs them; --stacks=full keeps all of these";
static const char no_branches[] =
	"branch records are not taken, which few machines have; stacks are complete by --call-graph dwarf, the default";
static const char no_aux[] = "traces of the CPU's own (Intel PT and the like) are not recorded";
static const char no_raw[] = "code of the kernel is not copied; its names are in every recording";

const struct opt perf_opts[] = {
	/* The format always does it. */
	MOOT("compression-level", 'z', "[LEVEL]"),
	MOOT("no-buildid", 'B', NULL),
	MOOT("no-buildid-cache", 'N', NULL),
	MOOT("buildid-all", 0, NULL),
	MOOT("buildid-mmap", 0, NULL),
	MOOT("namespaces", 0, NULL),
	MOOT("all-cgroups", 0, NULL),
	MOOT("exclude-perf", 0, NULL),
	MOOT("timestamp", 'T', NULL),
	MOOT("period", 'P', NULL),
	MOOT("stat", 's', NULL),
	MOOT("sample-cpu", 0, NULL),
	MOOT("sample-identifier", 0, NULL),
	MOOT("timestamp-boundary", 0, NULL),
	/* Each event takes its samples, in a group or not. */
	MOOT("group", 0, NULL),
	MOOT("running-time", 0, NULL),
	/* How perf writes its file and reads /proc. */
	MOOT("aio", 0, "[N]"),
	MOOT("affinity", 0, "MODE"),
	MOOT("mmap-flush", 0, "SIZE"),
	MOOT("threads", 0, "[SPEC]"),
	MOOT("no-buffering", 0, NULL),
	MOOT("proc-map-timeout", 0, "MS"),
	MOOT("synth", 0, "WHAT"),
	MOOT("tail-synthesize", 0, NULL),
	MOOT("num-thread-synthesize", 0, "N"),
	MOOT("bpf-event", 0, NULL),
	/* About BPF scripts as events, or options of nsprof symbolize. */
	MOOT("clang-path", 0, "FILE"),
	MOOT("clang-opt", 0, "OPTIONS"),
	MOOT("vmlinux", 0, "FILE"),
	MOOT("debuginfod", 0, "[URLS]"),

	REFUSED("branch-any", 'b', NULL, no_branches),
	REFUSED("branch-filter", 'j', "MASK", no_branches),
	REFUSED("data", 'd', NULL, no_memory),
	REFUSED("phys-data", 0, NULL, no_memory),
	REFUSED("data-mmap", 0, NULL, no_memory),
	REFUSED("sample-mem-info", 0, NULL, no_memory),
	REFUSED("data-page-size", 0, NULL, no_memory),
	REFUSED("code-page-size", 0, NULL, no_memory),
	REFUSED("weight", 'W', NULL, no_memory),
	REFUSED("transaction", 0, NULL, no_memory),
	REFUSED("intr-regs", 'I', "[REGS]", no_registers),
	REFUSED("user-regs", 0, "[REGS]", no_registers),
	REFUSED("snapshot", 'S', "[OPTIONS]", no_aux),
	REFUSED("aux-sample", 0, "[OPTIONS]", no_aux),
	REFUSED("kcore", 0, NULL, no_raw),
	REFUSED("uid", 'u', "USER", "name the processes: -p $(pgrep -d, -u USER)"),
	REFUSED("latency", 0, NULL, "how many threads run at a time is not recorded; nsprof report --format html shows each thread over time"),
	REFUSED("setup-filter", 0, "ACTION", "samples are not filtered by BPF; nsprof report --filter KEY=VALUE chooses among them"),
	REFUSED("no-samples", 'n', NULL, "a recording is made of samples; perf stat counts without"),
	REFUSED("switch-events", 0, NULL, "--off-cpu records when threads leave the CPU and come back"),
	REFUSED("switch-output-event", 0, "EVENT", "--switch-output takes a signal, a size or a time"),
};
const size_t perf_nopts = ARRAY_SIZE(perf_opts);
