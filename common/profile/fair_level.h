/*
 * How deep the stacks of each owner may be, so that all of them together stay below a limit and no
 * owner pays for another.
 */
#ifndef NSPROF_FAIR_LEVEL_H
#define NSPROF_FAIR_LEVEL_H

#include <stddef.h>
#include <stdint.h>

/* A stack takes what lies between @from and @to, in units of its choice; at level L, at most L - @from. */
struct fair_item {
	uint32_t owner;		/* below the number of owners */
	uint64_t from, to;	/* @from <= @to */
};

struct fair_limit {
	uint64_t pool;		/* for all owners together */
	uint64_t each;		/* an owner's own, for each of its items */
};

#define FAIR_WHOLE UINT64_MAX

/* Bytes of the folded text of all stacks that are written, and of each. */
#define FAIR_FOLDED_BYTES ((struct fair_limit){ (uint64_t)1 << 30, 8192 })

/*
 * Returns the level of each of @nowners: FAIR_WHOLE if all that it wants fits into its own part and its
 * share of the pool; otherwise the highest at which that is so. Who wants less than an equal share of
 * the pool leaves the rest to others. NULL if nobody's stacks have to be cut. Free with free(3). Sums
 * saturate.
 */
uint64_t *fair_levels(const struct fair_item *items, size_t n, uint32_t nowners, struct fair_limit limit);

#endif
