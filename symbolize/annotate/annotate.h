/*
 * Functions with samples, by address, for 'nsprof annotate'. Only the address at which a sample was
 * taken counts: that of the instruction that was about to be executed. With waits, a stack counts in
 * each of its functions, at the call that leads to the wait.
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
	const char *name;	/* as reports show it; borrowed from the naming */
	const char *linkage;	/* as in the symbol table; borrowed */
	uint64_t start, end;	/* svma */
	uint64_t samples;
	uint64_t weight;	/* for shares: samples or, with annotate.period, their periods */
	uint64_t own;		/* weight of the stacks in which it is the innermost function of a program */
	struct u64map at;	/* svma -> samples */
	struct u64map weight_at;	/* svma -> weight */
	/* Where the kernel was entered: in or after a system call, or at what was interrupted. Not in @at. */
	struct u64map entered, weight_entered;
	bool calls;		/* @at may be within calls: annotate.waits */
	uint32_t twins;		/* other binaries whose samples are included: annotate_join() */
};

struct annotate {
	const struct collect *col;	/* borrowed */
	const struct naming *nm;	/* borrowed */
	bool period;			/* the period varies, so it is the weight */
	bool waits;			/* of ROLE_WAITS or ROLE_WALL */
	uint64_t *leaf;			/* owned; by location id: samples taken there or, with @waits, through there */
	uint64_t *leaf_weight;		/* owned; by location id: their weight */
	uint64_t samples, weight;	/* of all samples */
	struct annotate_func *funcs;	/* owned; hottest first */
	size_t n, cap;
};

/* Uses all samples of @col. @nm: its names, made with opts.detail. @waits: as annotate.waits. */
void annotate_init(struct annotate *a, const struct collect *col, const struct naming *nm, bool waits);
void annotate_fini(struct annotate *a);

/*
 * Finds the functions called @symbol. A whole name, demangled or not, comes first; then a name
 * without its parameters; then a part of a name, if @symbol is not the name of anything else.
 * Returns their number, and their indices in *@out (owned by the caller), hottest first. *@names:
 * number of different names among them; if there is more than one, @symbol is ambiguous.
 */
size_t annotate_find(const struct annotate *a, const char *symbol, size_t **out, size_t *names);
/*
 * Samples in code inlined from the function called @symbol: returns their number and appends the
 * functions they are in, as "a (12), b (3)".
 */
uint64_t annotate_inlined(const struct annotate *a, const char *symbol, struct strbuf *into);

/* What a name is that no function in a binary has. */
enum annotate_else {
	ANNOTATE_NOTHING,
	ANNOTATE_INLINED,
	ANNOTATE_KERNEL,
	ANNOTATE_JIT,
	ANNOTATE_UNNAMED,	/* "[libx.so]" */
};

/* Finds out what @symbol is. *@samples: samples taken in it. */
enum annotate_else annotate_else(const struct annotate *a, const char *symbol, uint64_t *samples);

/*
 * Adds the samples of @from to @to and empties @from. For functions in unrelated files that have
 * the same code at the same addresses; the caller has compared them.
 */
void annotate_join(struct annotate_func *to, struct annotate_func *from);

#endif
