#include "cli/event_name.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>

#include "base/suggest.h"
#include "base/util.h"

#define CACHE(name, cache, op, result)                                                             \
	{ name, NULL, PERF_TYPE_HW_CACHE,                                                          \
	  PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                         \
		  PERF_COUNT_HW_CACHE_RESULT_##result << 16 }
#define CACHE_LOADS(name, cache)                                                                   \
	CACHE(name "-loads", cache, READ, ACCESS), CACHE(name "-load-misses", cache, READ, MISS)
#define CACHE_STORES(name, cache)                                                                  \
	CACHE(name "-stores", cache, WRITE, ACCESS), CACHE(name "-store-misses", cache, WRITE, MISS)

static const struct event_name names[] = {
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", "branch-instructions", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	CACHE_LOADS("L1-dcache", L1D),
	CACHE_STORES("L1-dcache", L1D),
	CACHE_LOADS("L1-icache", L1I),
	CACHE_LOADS("LLC", LL),
	CACHE_STORES("LLC", LL),
	CACHE_LOADS("dTLB", DTLB),
	CACHE_STORES("dTLB", DTLB),
	CACHE_LOADS("iTLB", ITLB),
	CACHE_LOADS("branch", BPU),
	CACHE_LOADS("node", NODE),
	CACHE_STORES("node", NODE),
};

static bool name_is(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, text, len);
}

const struct event_name *event_name_find(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (name_is(names[i].name, text, len) || name_is(names[i].alias, text, len))
			return &names[i];
	return NULL;
}

void event_name_suggest(struct suggest *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		suggest_offer(s, names[i].name);
		if (names[i].alias)
			suggest_offer(s, names[i].alias);
	}
}

void event_name_list(FILE *to, char separator)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (i)
			fputc(separator, to);
		fputs(names[i].name, to);
	}
}
