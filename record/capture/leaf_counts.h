/*
 * The sampled addresses of a binary: number of samples at each address of its user code, and how
 * many bytes of its code a recording may contain because of them.
 */
#ifndef NSPROF_LEAF_COUNTS_H
#define NSPROF_LEAF_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct leaf {
	uint64_t addr;	/* byte offset in the file; the caller may convert it to another address */
	uint64_t samples;
};

struct leaf_counts {
	struct leaf *v;		/* owned; sorted, without duplicates */
	size_t n;
	uint64_t samples;	/* sum over all */
};

/* From a map: address -> samples. */
void leaf_counts_init(struct leaf_counts *l, const struct u64map *counts);
void leaf_counts_fini(struct leaf_counts *l);
/* Adds the counts of @from, which stays unchanged. */
void leaf_counts_add(struct leaf_counts *l, const struct leaf_counts *from);
void leaf_counts_sort(struct leaf *v, size_t n);

/*
 * Bytes of code in one file: CODE_SAMPLE per sample, at least CODE_MIN and at most CODE_MAX.
 * Binaries share them by their samples, in the order of their requests. What one returns is
 * available to the next.
 */
#define CODE_SAMPLE 3u
#define CODE_MIN (16u << 10)
#define CODE_MAX (4u << 20)

struct code_budget {
	uint64_t bytes;		/* remaining */
	uint64_t samples;	/* of binaries that have not made a request yet */
};

/* @samples: of all binaries together. */
void code_budget_init(struct code_budget *b, uint64_t samples);
/* The share of a binary with @samples, in bytes. */
uint64_t code_budget_take(struct code_budget *b, uint64_t samples);
/* Returns the part of its share that a binary did not use. */
void code_budget_return(struct code_budget *b, uint64_t bytes);

#endif
