/*
 * Functions that samples were taken in, by address: what annotate shows. Of a sample only the address it was taken at counts, which is
 * the instruction that was about to be executed.
 */
#ifndef NSPROF_ANNOTATE_H
#define NSPROF_ANNOTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct collect;
struct module;
struct naming;
struct strbuf;

struct annotate_func {
	struct module *mod;	/* borrowed */
	const char *name;	/* as a report shows it; borrowed from the naming */
	const char *linkage;	/* as the symbol table has it; borrowed */
	uint64_t start, end;	/* svma */
	uint64_t samples;
	uint64_t weight;	/* what shares are of: as samples, or with annotate.period the sum of their periods */
	struct u64map at;	/* svma -> samples */
	struct u64map weight_at;	/* the same of the weight */
	uint32_t twins;		/* other binaries whose samples are in here, too: annotate_join() */
};

struct annotate {
	const struct collect *col;	/* borrowed */
	const struct naming *nm;	/* borrowed */
	bool period;			/* the period varies from sample to sample, so that shares go by it */
	uint64_t *leaf;			/* owned; by location id: samples taken there */
	uint64_t *leaf_weight;		/* owned; the same of the weight */
	uint64_t weight;		/* of all samples */
	struct annotate_func *funcs;	/* owned; hottest first */
	size_t n, cap;
};

/* All of what was collected, and named with opts.detail. */
void annotate_init(struct annotate *a, const struct collect *col, const struct naming *nm);
void annotate_fini(struct annotate *a);

/*
 * The functions called @symbol: by the whole name, demangled or not; if there is none, by the name without parameters; at last by
 * a part of it, if @symbol is not the name of anything else either. How many, their indices in *@out (owned by the caller), hottest first. *@names: how many names these have; with more
 * than one @symbol does not say which is meant.
 */
size_t annotate_find(const struct annotate *a, const char *symbol, size_t **out, size_t *names);
/* Samples taken at code that the function called @symbol was inlined into, in all and by function: a text like "a (12), b (3)". */
uint64_t annotate_inlined(const struct annotate *a, const char *symbol, struct strbuf *into);

/* What there is of a name that no function in a binary has. */
enum annotate_else {
	ANNOTATE_NOTHING,
	ANNOTATE_INLINED,
	ANNOTATE_KERNEL,
	ANNOTATE_JIT,
	ANNOTATE_UNNAMED,	/* "[libx.so]" */
};

/* Samples taken in what is called @symbol go to *@samples. */
enum annotate_else annotate_else(const struct annotate *a, const char *symbol, uint64_t *samples);

/*
 * Adds the samples of @from to @to and empties @from: one function in files that have nothing to do with each other, but the same
 * code at the same addresses, which the caller has compared.
 */
void annotate_join(struct annotate_func *to, struct annotate_func *from);

#endif
