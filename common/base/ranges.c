/* Makes disjoint address ranges from overlapping ones. */
#include "base/ranges.h"

#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

void ranges_reserve(struct ranges *r, size_t n)
{
	r->cap = n;
	r->v = xmalloc(n * sizeof(*r->v));
}

void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t id)
{
	if (start >= end)
		return;
	XGROW(r->v, r->n, r->cap);
	r->v[r->n++] = (struct range){ start, end, id };
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/*
 * The ranges that are open at the sweep's position: a binary heap of indexes with the highest id on
 * top. Ranges that ended below the top stay until they reach it: removing them early would cost
 * more.
 */
struct open_set {
	const struct range *v;
	uint32_t *heap;
	size_t n, cap;
};

static void open_push(struct open_set *o, uint32_t idx)
{
	size_t i;

	XGROW(o->heap, o->n, o->cap);
	for (i = o->n++; i > 0; i = (i - 1) / 2) {
		uint32_t up = o->heap[(i - 1) / 2];

		if (o->v[up].id >= o->v[idx].id)
			break;
		o->heap[i] = up;
	}
	o->heap[i] = idx;
}

static void open_pop(struct open_set *o)
{
	uint32_t last = o->heap[--o->n];
	size_t i = 0;

	for (;;) {
		size_t kid = 2 * i + 1;

		if (kid >= o->n)
			break;
		if (kid + 1 < o->n && o->v[o->heap[kid + 1]].id > o->v[o->heap[kid]].id)
			kid++;
		if (o->v[o->heap[kid]].id <= o->v[last].id)
			break;
		o->heap[i] = o->heap[kid];
		i = kid;
	}
	if (o->n)
		o->heap[i] = last;
}

static void emit(struct ranges *out, uint64_t start, uint64_t end, uint32_t id)
{
	struct range *last = out->n ? &out->v[out->n - 1] : NULL;

	/* A range that continues after one it outranks, or that is repeated, stays one range. */
	if (last && last->id == id && last->end == start)
		last->end = end;
	else
		ranges_add(out, start, end, id);
}

/* Sorted, disjoint, and no two neighbours that could be merged. */
static bool is_flat(const struct ranges *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->v[i - 1].end > r->v[i].start ||
		    (r->v[i - 1].end == r->v[i].start && r->v[i - 1].id == r->v[i].id))
			return false;
	return true;
}

static bool is_sorted(const struct ranges *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (by_start(&r->v[i - 1], &r->v[i]) > 0)
			return false;
	return true;
}

void ranges_flatten(struct ranges *r)
{
	struct ranges out = RANGES_INIT;
	struct open_set open = { NULL, NULL, 0, 0 };
	uint64_t pos = 0;

	if (is_flat(r))
		return;
	ranges_reserve(&out, r->n);
	/* Symbols and units mostly come sorted and disjoint. */
	if (!is_sorted(r))
		qsort(r->v, r->n, sizeof(*r->v), by_start);
	open.v = r->v;
	for (size_t i = 0; i <= r->n; i++) {
		uint64_t next = i < r->n ? r->v[i].start : UINT64_MAX;

		while (open.n && pos < next) {
			const struct range *top = &r->v[open.heap[0]];

			if (top->end <= pos) {
				open_pop(&open);
				continue;
			}
			emit(&out, pos, MIN(top->end, next), top->id);
			pos = MIN(top->end, next);
		}
		pos = next;
		if (i == r->n)
			break;
		if (!open.n && (i + 1 == r->n || r->v[i].end <= r->v[i + 1].start))
			emit(&out, r->v[i].start, r->v[i].end, r->v[i].id);
		else
			open_push(&open, (uint32_t)i);
	}
	free(open.heap);
	ranges_fini(r);
	*r = out;
}

const struct range *ranges_find(const struct ranges *r, uint64_t addr)
{
	size_t behind = BISECT(r->n, i, r->v[i].start <= addr);

	if (!behind || addr >= r->v[behind - 1].end)
		return NULL;
	return &r->v[behind - 1];
}

void ranges_fini(struct ranges *r)
{
	free(r->v);
	*r = (struct ranges)RANGES_INIT;
}
