/*
 * Where the samples of a binary stood: how many at each address of its user code, and how much room its code
 * is to have in a recording by that.
 */
#ifndef NSPROF_LEAF_COUNTS_H
#define NSPROF_LEAF_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct leaf {
	uint64_t addr;		/* byte offset in the file; the caller may make it another address */
	uint64_t samples;
};

struct leaf_counts {
	struct leaf *v;		/* owned; sorted, each address once */
	size_t n;
	uint64_t samples;	/* of all */
};

/* From a map of addresses to samples. */
void leaf_counts_init(struct leaf_counts *l, const struct u64map *counts);
void leaf_counts_fini(struct leaf_counts *l);
/* Add what @from has; that stays as it is. */
void leaf_counts_add(struct leaf_counts *l, const struct leaf_counts *from);
void leaf_counts_sort(struct leaf *v, size_t n);

/*
 * Bytes of code in one file: as many as CODE_SAMPLE for each sample, but at least CODE_MIN and at most CODE_MAX.
 * They are shared among binaries by samples, in the order in which these ask; what one leaves goes to the next.
 */
#define CODE_SAMPLE 3u
#define CODE_MIN (16u << 10)
#define CODE_MAX (4u << 20)

struct code_budget {
	uint64_t bytes;		/* left */
	uint64_t samples;	/* of binaries that have not asked yet */
};

/* For binaries that have so many @samples together. */
void code_budget_init(struct code_budget *b, uint64_t samples);
/* The share of one with @samples, bytes. */
uint64_t code_budget_take(struct code_budget *b, uint64_t samples);
/* What it did not need of that. */
void code_budget_return(struct code_budget *b, uint64_t bytes);

#endif
