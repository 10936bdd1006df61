/*
 * Disjoint address ranges made of overlapping ones. Symbols, inlined functions, compilation units
 * and perf map lines all overlap, and all are asked the same question: which of those that hold
 * this address counts? Here the one with the highest id does; callers number accordingly.
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

/* Before the first is added: room for @n. */
void ranges_reserve(struct ranges *r, size_t n);
/* Empty ranges (start >= end) are left out. */
void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t id);

/*
 * Make @r sorted and disjoint: every address keeps the highest id of the ranges that held it. At
 * most 2n - 1 ranges come out of n. O(n log n) whatever the input.
 */
void ranges_flatten(struct ranges *r);

/* The range of a flattened set that holds @addr, or NULL. */
const struct range *ranges_find(const struct ranges *r, uint64_t addr);

void ranges_fini(struct ranges *r);

#endif
