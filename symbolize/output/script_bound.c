#include "output/script_bound.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "naming/naming.h"
#include "profile/fair_level.h"
#include "replay/collect.h"

/* Bytes of all stacks, and for each: more than 1,024 frames with names and files of a usual length have. */
#define LIMIT ((struct fair_limit){ (uint64_t)1 << 30, 128u << 10 })
#define FRAME 24	/* bytes of a frame without its name and file */
#define TOLD_MAX 5	/* containers with a warning of their own */

uint64_t script_bound_frame(const struct naming *nm, size_t i)
{
	return intern_len(nm->names, nm->ids[i]) + intern_len(nm->names, nm->frames[i].dso) + intern_len(nm->names, nm->frames[i].line) + FRAME;
}

void script_bound_init(struct script_bound *b, const struct collect *col, const struct naming *nm, const uint32_t *nodes)
{
	const struct stacktree *tree = &col->tree;
	struct fair_item *items;
	uint64_t sum = 0;

	*b = (struct script_bound){ .col = col, .bytes = xcalloc(tree->n, sizeof(*b->bytes)) };
	for (size_t i = 1; i < tree->n; i++) {
		const struct named *named = &nm->named[tree->nodes[i].loc];

		b->bytes[i] = b->bytes[tree->nodes[i].parent];
		for (uint32_t k = 0; k < named->n; k++)
			b->bytes[i] += script_bound_frame(nm, named->first + k);
	}
	for (size_t i = 0; i < col->neach; i++)
		if (__builtin_add_overflow(sum, b->bytes[nodes[i]], &sum))
			sum = UINT64_MAX;
	if (sum > LIMIT.pool) {
		owners_init(&b->owners, col->spread.threads, (uint32_t)col->spread.nthreads);
		items = xcalloc(col->neach, sizeof(*items));
		for (size_t i = 0; i < col->neach; i++)
			items[i] = (struct fair_item){ b->owners.of[col->each[i].thread], 0, b->bytes[nodes[i]] };
		b->levels = fair_levels(items, col->neach, b->owners.n, LIMIT);
		free(items);
	}
	if (b->levels)
		return;
	free(b->bytes);
	b->bytes = NULL;
}

uint64_t script_bound_bytes(struct script_bound *b, uint32_t node, uint32_t thread)
{
	uint64_t level;

	if (!b->bytes)
		return FAIR_WHOLE;
	level = b->levels[b->owners.of[thread]];
	b->owners.cut[b->owners.of[thread]] += b->bytes[node] > level;
	return level;
}

void script_bound_fini(struct script_bound *b)
{
	struct strbuf name = STRBUF_INIT;
	size_t told = 0;

	for (uint32_t i = 0; b->bytes && i < b->owners.n; i++) {
		if (!b->owners.cut[i] || told++ >= TOLD_MAX)
			continue;
		strbuf_reset(&name);
		escape_text(&name, intern_str(b->col->texts, b->owners.containers[i]));
		pr_warn("container '%s': %" PRIu64 " stack%s outermost frames, because all together are too long", name.s ? name.s : "",
			b->owners.cut[i], plural_of(b->owners.cut[i], " lacks", "s lack"));
	}
	if (told > TOLD_MAX)
		pr_warn("the same holds for %zu more", told - TOLD_MAX);
	strbuf_fini(&name);
	free(b->bytes);
	free(b->levels);
	owners_fini(&b->owners);
}
