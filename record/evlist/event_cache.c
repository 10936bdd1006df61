/* Events of caches, CACHE[-OP][-RESULT], in the spellings of perf's parse-events.l. */
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "evlist/evlist_priv.h"

#define WORDS 8		/* spellings of one thing */

struct spelled {
	uint8_t value;	/* PERF_COUNT_HW_CACHE_* */
	const char *words[WORDS];
};

static const struct spelled caches[] = {
	{ PERF_COUNT_HW_CACHE_L1D, { "L1-dcache", "l1-d", "l1d", "L1-data" } },
	{ PERF_COUNT_HW_CACHE_L1I, { "L1-icache", "l1-i", "l1i", "L1-instruction" } },
	{ PERF_COUNT_HW_CACHE_LL, { "LLC", "L2" } },
	{ PERF_COUNT_HW_CACHE_DTLB, { "dTLB", "d-tlb", "Data-TLB" } },
	{ PERF_COUNT_HW_CACHE_ITLB, { "iTLB", "i-tlb", "Instruction-TLB" } },
	{ PERF_COUNT_HW_CACHE_BPU, { "branch", "branches", "bpu", "btb", "bpc" } },
	{ PERF_COUNT_HW_CACHE_NODE, { "node" } },
};
static const struct spelled ops[] = {
	{ PERF_COUNT_HW_CACHE_OP_READ, { "loads", "load", "read" } },
	{ PERF_COUNT_HW_CACHE_OP_WRITE, { "stores", "store", "write" } },
	{ PERF_COUNT_HW_CACHE_OP_PREFETCH, { "prefetches", "prefetch", "speculative-read", "speculative-load" } },
};
static const struct spelled results[] = {
	{ PERF_COUNT_HW_CACHE_RESULT_ACCESS, { "refs", "Reference", "ops", "access" } },
	{ PERF_COUNT_HW_CACHE_RESULT_MISS, { "misses", "miss" } },
};

/* Takes the longest word of @table, with the dash before it unless @first, off @rest. */
static bool take(struct piece *rest, const struct spelled *table, size_t n, bool first, uint8_t *value)
{
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t w = 0; w < WORDS && table[i].words[w]; w++) {
			const char *word = table[i].words[w];
			const size_t dash = !first, len = strlen(word) + dash;

			if (rest->len < len || (dash && *rest->s != '-') || strncasecmp(rest->s + dash, word, len - dash) ||
			    (rest->len > len && rest->s[len] != '-') || len <= best)
				continue;
			best = len;
			*value = table[i].value;
		}
	}
	rest->s += best;
	rest->len -= best;
	return best;
}

bool event_cache(struct piece name, uint64_t *config)
{
	uint8_t cache, op = PERF_COUNT_HW_CACHE_OP_READ, result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	bool have_op;

	if (!take(&name, caches, ARRAY_SIZE(caches), true, &cache))
		return false;
	/* Either may come first, as in perf. */
	have_op = take(&name, ops, ARRAY_SIZE(ops), false, &op);
	take(&name, results, ARRAY_SIZE(results), false, &result);
	if (!have_op)
		take(&name, ops, ARRAY_SIZE(ops), false, &op);
	if (name.len)
		return false;
	*config = cache | (uint64_t)op << 8 | (uint64_t)result << 16;
	return true;
}
