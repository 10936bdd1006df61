/*
 * Makes disjoint address ranges from overlapping ones. Symbols, inlined functions, compilation
 * units and perf map lines all overlap, and the question is always the same: which of the ranges at
 * this address counts? The one with the highest id does; callers choose ids accordingly.
 */
#ifndef NSPROF_RANGES_H
#define NSPROF_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t start, end;	/* [start, end), any one address space */
	uint32_t id;
};

struct ranges {
	struct range *v;	/* owned */
	size_t n;
	size_t cap;
};

#define RANGES_INIT { NULL, 0, 0 }

/* Makes room for @n ranges. Call it before the first ranges_add(). */
void ranges_reserve(struct ranges *r, size_t n);
/* Empty ranges (start >= end) are ignored. */
void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t id);

/*
 * Makes @r sorted and disjoint: each address keeps the highest id of the ranges that held it. n
 * ranges become at most 2n - 1. O(n log n) for any input.
 */
void ranges_flatten(struct ranges *r);

/* The range that holds @addr in a flattened set, or NULL. */
const struct range *ranges_find(const struct ranges *r, uint64_t addr);

void ranges_fini(struct ranges *r);

#endif
