#include "profile/fair_level.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

struct owner {
	uint32_t id;
	uint64_t wants, own;	/* in all; of its own part */
	size_t first, n;	/* its items, in order of owners */
};

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static uint64_t more_than_own(const struct owner *o)
{
	return o->wants > o->own ? o->wants - o->own : 0;
}

static int by_more(const void *pa, const void *pb)
{
	const struct owner *a = pa, *b = pb;
	const uint64_t x = more_than_own(a), y = more_than_own(b);

	if (x != y)
		return x < y ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static uint64_t taken_at(const struct fair_item *items, const struct owner *o, uint64_t level)
{
	uint64_t sum = 0;

	for (size_t i = o->first; i < o->first + o->n; i++)
		if (level > items[i].from)
			sum = add_saturated(sum, MIN(items[i].to, level) - items[i].from);
	return sum;
}

/* The highest level at which @o takes no more than @may. */
static uint64_t level_of(const struct fair_item *items, const struct owner *o, uint64_t may)
{
	uint64_t low = 0, high = 0;

	for (size_t i = o->first; i < o->first + o->n; i++)
		high = MAX(high, items[i].to);
	while (low < high) {
		const uint64_t mid = high - (high - low) / 2;

		if (taken_at(items, o, mid) <= may)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* Sorts items by owner, and fills @owners. Owned by the caller. */
static struct fair_item *by_owner(const struct fair_item *items, size_t n, struct owner *owners, uint32_t nowners, uint64_t each)
{
	struct fair_item *sorted = xcalloc(n + 1, sizeof(*sorted));
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		struct owner *o = &owners[items[i].owner];

		o->wants = add_saturated(o->wants, items[i].to - items[i].from);
		o->own = add_saturated(o->own, each);
		o->n++;
	}
	for (uint32_t i = 0; i < nowners; i++) {
		owners[i].id = i;
		owners[i].first = at;
		at += owners[i].n;
		owners[i].n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct owner *o = &owners[items[i].owner];

		sorted[o->first + o->n++] = items[i];
	}
	return sorted;
}

uint64_t *fair_levels(const struct fair_item *items, size_t n, uint32_t nowners, struct fair_limit limit)
{
	struct owner *owners = xcalloc((size_t)nowners + 1, sizeof(*owners));
	struct fair_item *sorted = by_owner(items, n, owners, nowners, limit.each);
	uint64_t *levels = xcalloc((size_t)nowners + 1, sizeof(*levels));
	bool cut = false;

	qsort(owners, nowners, sizeof(*owners), by_more);
	for (uint32_t i = 0; i < nowners; i++) {
		const struct owner *o = &owners[i];
		const uint64_t share = limit.pool / (nowners - i), more = more_than_own(o);

		levels[o->id] = more <= share ? FAIR_WHOLE : level_of(sorted, o, add_saturated(o->own, share));
		cut |= more > share;
		limit.pool -= MIN(more, share);
	}
	free(sorted);
	free(owners);
	if (cut)
		return levels;
	free(levels);
	return NULL;
}
