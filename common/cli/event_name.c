#include "cli/event_name.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/util.h"

#define CACHE(name, cache, op, result, help)                                                        \
	{ name, NULL, PERF_TYPE_HW_CACHE,                                                          \
	  PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                         \
		  PERF_COUNT_HW_CACHE_RESULT_##result << 16, help }
#define CACHE_LOADS(name, cache, what)                                                             \
	CACHE(name "-loads", cache, READ, ACCESS, what " reads"),                                  \
	CACHE(name "-load-misses", cache, READ, MISS, what " read misses")
#define CACHE_STORES(name, cache, what)                                                            \
	CACHE(name "-stores", cache, WRITE, ACCESS, what " writes"),                             \
	CACHE(name "-store-misses", cache, WRITE, MISS, what " write misses")

/* PERF_COUNT_SW_CGROUP_SWITCHES, since Linux 5.13. */
#define SW_CGROUP_SWITCHES 11

static const struct event_name names[] = {
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
	  "CPU cycles" },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
	  "retired instructions" },
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
	  "a timer on each CPU" },
	{ "task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
	  "a timer of each thread's CPU time" },
	{ "page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS,
	  "page faults" },
	{ "context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
	  "switches from one thread to another" },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
	  "last-level cache misses" },
	{ "branches", "branch-instructions", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  "retired branches" },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES,
	  "mispredicted branches" },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
	  "last-level cache accesses" },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES,
	  "bus cycles" },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES,
	  "cycles of a clock with a fixed frequency" },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	  "cycles stalled in the front end" },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
	  "cycles stalled in the back end" },
	{ "cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS,
	  "moves of a thread to another CPU" },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN,
	  "page faults without I/O" },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	  "page faults with I/O" },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	  "unaligned accesses that the kernel emulated" },
	{ "emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS,
	  "instructions that the kernel emulated" },
	{ "cgroup-switches", NULL, PERF_TYPE_SOFTWARE, SW_CGROUP_SWITCHES,
	  "switches to a thread of another cgroup" },
	CACHE_LOADS("L1-dcache", L1D, "L1 data cache"),
	CACHE_STORES("L1-dcache", L1D, "L1 data cache"),
	CACHE_LOADS("L1-icache", L1I, "L1 instruction cache"),
	CACHE_LOADS("LLC", LL, "last-level cache"),
	CACHE_STORES("LLC", LL, "last-level cache"),
	CACHE_LOADS("dTLB", DTLB, "data TLB"),
	CACHE_STORES("dTLB", DTLB, "data TLB"),
	CACHE_LOADS("iTLB", ITLB, "instruction TLB"),
	CACHE_LOADS("branch", BPU, "branch predictor"),
	CACHE_LOADS("node", NODE, "local memory (NUMA)"),
	CACHE_STORES("node", NODE, "local memory (NUMA)"),
};

/* Case does not matter to perf 7, either. */
static bool name_is(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !strncasecmp(name, text, len);
}

const struct event_name *event_name_find(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (name_is(names[i].name, text, len) || name_is(names[i].alias, text, len))
			return &names[i];
	return NULL;
}

bool event_name_tells(const char *name, uint32_t type, uint64_t config)
{
	const struct event_name *n = event_name_find(name, strlen(name));

	/* The upper half is the PMU (PERF_PMU_TYPE_SHIFT). */
	if (type == PERF_TYPE_HARDWARE)
		config = (uint32_t)config;
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE)
		return n && n->type == type && n->config == config;
	return !n || n->type == type;
}

void event_name_suggest(struct suggest *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		suggest_offer(s, names[i].name);
		if (names[i].alias)
			suggest_offer(s, names[i].alias);
	}
}

const struct event_name *event_name_next(size_t *i)
{
	return *i < ARRAY_SIZE(names) ? &names[(*i)++] : NULL;
}
