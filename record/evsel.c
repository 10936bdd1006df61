#include "evsel.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "util.h"

#define CACHE(name, cache, op, result)                                                             \
	{ name, NULL, PERF_TYPE_HW_CACHE,                                                          \
	  PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_##op << 8 |                         \
		  PERF_COUNT_HW_CACHE_RESULT_##result << 16 }
#define CACHE_LOADS(name, cache)                                                                   \
	CACHE(name "-loads", cache, READ, ACCESS), CACHE(name "-load-misses", cache, READ, MISS)
#define CACHE_STORES(name, cache)                                                                  \
	CACHE(name "-stores", cache, WRITE, ACCESS), CACHE(name "-store-misses", cache, WRITE, MISS)

static const struct evsel_name {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
} names[] = {
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

static const struct evsel_name *name_find(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (name_is(names[i].name, text, len) || name_is(names[i].alias, text, len))
			return &names[i];
	return NULL;
}

/* Of what perf would take, why it is not here; NULL: it is no event of anybody. */
static const char *why_unknown(const char *text)
{
	const char *colon = strchr(text, ':');

	if (text[0] == 'r' && text[1] && !text[1 + strspn(text + 1, "0123456789abcdefABCDEF")])
		return "a raw event, whose number means another thing on each CPU";
	if (strchr(text, '/'))
		return "an event of one kind of PMU";
	if (!strncmp(text, "mem:", 4))
		return "a breakpoint";
	/* More than modifiers behind it: GROUP:NAME. */
	if (colon && colon > text && colon[1 + strspn(colon + 1, "ukhGHpPSDWI")])
		return "a tracepoint";
	return NULL;
}

int evsel_parse(struct evsel *ev, const char *text)
{
	size_t len = strcspn(text, ":");
	const char *mod = text[len] ? text + len + 1 : "";
	const struct evsel_name *n;
	bool user = false, kernel = false;

	if (strchr(text, ',') || text[0] == '{') {
		pr_err("one event at a time: '%s' names several", text);
		return -EINVAL;
	}
	n = name_find(text, len);
	if (!n && why_unknown(text)) {
		pr_err("event '%s' is %s, which perf has and nsprof has not; what it samples by is CPU time, "
		       "counters, page-faults or context-switches", text, why_unknown(text));
		return -EINVAL;
	}
	if (!n) {
		pr_err("unknown event '%.*s'; known are cycles, instructions, cpu-clock, "
		       "task-clock, page-faults, context-switches, cpu-migrations, cache-misses, "
		       "branches, branch-misses, minor-faults, major-faults, L1-dcache-load-misses and the like",
		       (int)len, text);
		return -EINVAL;
	}
	for (const char *p = mod; *p; p++) {
		switch (*p) {
		case 'u':
			user = true;
			break;
		case 'k':
			kernel = true;
			break;
		case 'p':	/* precision: the most that is there is always right */
		case 'P':
		case 'H':	/* the host only: what we do anyway */
			break;
		default:
			pr_err("unknown modifier '%c' in event '%s'; allowed are u, k and p", *p,
			       text);
			return -EINVAL;
		}
	}
	ev->name = n->name;
	ev->type = n->type;
	ev->config = n->config;
	/* Naming one side excludes the other; naming both excludes none. */
	ev->exclude_user = kernel && !user;
	ev->exclude_kernel = user && !kernel;
	return 0;
}

bool evsel_fall_back(struct evsel *ev, int err)
{
	if (err != -ENOENT && err != -ENXIO && err != -ENODEV && err != -EOPNOTSUPP)
		return false;
	if (ev->type != PERF_TYPE_HARDWARE || ev->config != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	ev->name = "cpu-clock";
	ev->type = PERF_TYPE_SOFTWARE;
	ev->config = PERF_COUNT_SW_CPU_CLOCK;
	return true;
}

bool evsel_is_clock(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE && (ev->config == PERF_COUNT_SW_CPU_CLOCK ||
						  ev->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool evsel_counts_each(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE && !evsel_is_clock(ev);
}

bool evsel_is_hardware(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_HARDWARE || ev->type == PERF_TYPE_HW_CACHE;
}

const char *evsel_modifier(const struct evsel *ev)
{
	return ev->exclude_kernel ? "u" : ev->exclude_user ? "k" : "";
}

void evsel_attr(const struct evsel *ev, struct perf_event_attr *attr)
{
	attr->type = ev->type;
	attr->config = ev->config;
	attr->exclude_user = ev->exclude_user;
	attr->exclude_kernel = ev->exclude_kernel;
}
