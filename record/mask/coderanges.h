/*
 * Which addresses are code, remembered from one stack word to the next. Executable ranges cut the
 * address space into intervals: ranges, and the gaps between them, which are as good an answer. The
 * words of one stack fall into few intervals, so a direct-mapped cache keeps, for each granule, the
 * interval of the last word in it. If the CPU can look at several words at once, a cache of pages
 * comes first: most pages are in one interval, and nearly all are met again. Processes share both.
 * The tag of their mappings is part of the key, so nothing has to be cleared when mappings change.
 */
#ifndef NSPROF_CODERANGES_H
#define NSPROF_CODERANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mask/maskset.h"

#define CODERANGE_GRANULE_BITS 16
#define CODERANGE_BITS 9
#define CODERANGE_PAGE_BITS 12		/* bits of an address within its page */
#define CODERANGE_PAGES 2048u
#define CODERANGE_TAGS (1u << (CODERANGE_PAGE_BITS - 1))

struct coderange {
	uint64_t start;
	uint64_t len;			/* the last address is start + len: an interval is never empty */
	uint64_t key;			/* tag << 1 | 1 if it is code; 0 = unused */
};

/* Starts as zeros. */
struct coderanges {
	struct coderange range[1u << CODERANGE_BITS];
	uint64_t page[CODERANGE_PAGES];	/* address | key, but for the page's first byte; 0 = unused */
};

/* What is the same for all words of a sample. */
struct coderanges_ask {
	struct coderanges *cr;
	const struct range *exec;	/* executable ranges, sorted, disjoint; borrowed, as @cr */
	size_t nexec;
	uint64_t key;			/* for an interval that is not code */
	uint64_t salt;			/* spreads equal addresses of different processes */
};

/* @tag: 1 to CODERANGE_TAGS - 1, not used for ranges other than @ms's since @cr was zeros. */
void coderanges_ask(struct coderanges_ask *ask, struct coderanges *cr, const struct maskset *ms, uint32_t tag);

/* Looks up the runtime address @v in the ranges. */
void coderanges_find(const struct coderanges_ask *ask, uint64_t v, struct coderange *r);

/*
 * The interval of the runtime address @v, valid until the next call. A range includes its end: a
 * call of a function that never returns may be the very last instruction of a mapping, and its
 * return address then is the end. One address too many for each mapping costs nothing.
 */
static inline const struct coderange *coderanges_at(const struct coderanges_ask *ask, uint64_t v)
{
	/* The golden ratio: granules that differ in any of their bits get different entries. */
	struct coderange *r = &ask->cr->range[(v >> CODERANGE_GRANULE_BITS ^ ask->salt) * 0x9e3779b97f4a7c15ull >>
					      (64 - CODERANGE_BITS)];

	if ((v - r->start > r->len) | ((r->key ^ ask->key) > 1))
		coderanges_find(ask, v, r);
	return r;
}

static inline bool coderanges_has(const struct coderanges_ask *ask, uint64_t v)
{
	return coderanges_at(ask, v)->key & 1;
}

/*
 * Keeps those of the first @n words of @words (their @idx and @val) that are code, or that are in
 * [@sp, @sp + @size] and a multiple of 8, but never zeros. Sets their class, and returns their
 * number.
 */
typedef uint32_t (*coderanges_keep_fn)(const struct coderanges_ask *ask, uint64_t sp, uint64_t size,
				       struct stack_words *words, uint32_t n);

uint32_t coderanges_keep_plain(const struct coderanges_ask *ask, uint64_t sp, uint64_t size,
			       struct stack_words *words, uint32_t n);
/* The fastest one for this CPU; all of them do the same. */
coderanges_keep_fn coderanges_keep_best(void);

#endif
