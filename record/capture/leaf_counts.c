#include "capture/leaf_counts.h"

#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

static int by_addr(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void leaf_counts_sort(struct leaf *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_addr);
}

void leaf_counts_init(struct leaf_counts *l, const struct u64map *counts)
{
	struct leaf leaf;
	size_t it = 0;

	*l = (struct leaf_counts){ .v = xmalloc((counts->n + 1) * sizeof(*l->v)) };
	while (u64map_next(counts, &it, &leaf.addr, &leaf.samples)) {
		l->v[l->n++] = leaf;
		l->samples += leaf.samples;
	}
	leaf_counts_sort(l->v, l->n);
}

void leaf_counts_fini(struct leaf_counts *l)
{
	free(l->v);
	*l = (struct leaf_counts){ .v = NULL };
}

void leaf_counts_add(struct leaf_counts *l, const struct leaf_counts *from)
{
	struct leaf_counts sum = { .v = xmalloc((l->n + from->n + 1) * sizeof(*sum.v)) };
	size_t i = 0, k = 0;

	while (i < l->n || k < from->n) {
		struct leaf *to = &sum.v[sum.n++];

		to->addr = i < l->n && (k == from->n || l->v[i].addr <= from->v[k].addr) ? l->v[i].addr
											  : from->v[k].addr;
		to->samples = 0;
		if (i < l->n && l->v[i].addr == to->addr)
			to->samples += l->v[i++].samples;
		if (k < from->n && from->v[k].addr == to->addr)
			to->samples += from->v[k++].samples;
	}
	sum.samples = l->samples + from->samples;
	leaf_counts_fini(l);
	*l = sum;
}

void code_budget_init(struct code_budget *b, uint64_t samples)
{
	b->samples = samples;
	b->bytes = MIN(MAX(CODE_SAMPLE * MIN(samples, (uint64_t)CODE_MAX), (uint64_t)CODE_MIN), (uint64_t)CODE_MAX);
}

uint64_t code_budget_take(struct code_budget *b, uint64_t samples)
{
	uint64_t share;

	if (!samples || b->samples < samples)
		return 0;
	/* At most CODE_MAX times all samples of a recording. */
	share = b->bytes * samples / b->samples;
	b->samples -= samples;
	b->bytes -= share;
	return share;
}

void code_budget_return(struct code_budget *b, uint64_t bytes)
{
	b->bytes += bytes;
}
