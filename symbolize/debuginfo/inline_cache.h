/*
 * What is inlined where, of functions that were looked at before: the form in which it is kept on disk
 * (cache.h). inlines.c alone uses it.
 */
#ifndef NSPROF_INLINE_CACHE_H
#define NSPROF_INLINE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "support/ranges.h"

/* One inlined function. Its name is 0 when there is none to be had. */
struct inline_entry {
	uint32_t name;		/* id in names */
	uint32_t parent;	/* what it was inlined into, an earlier entry; INLINE_NOTHING: the function */
};

#define INLINE_NOTHING UINT32_MAX	/* as the id of a range: nothing is inlined there */

struct inline_cache {
	struct ranges ranges;	/* svma -> innermost entry; flat, but for what was just added */
	struct inline_entry *entries;	/* owned */
	size_t nentries, cap;
	struct intern *names;
};

struct inline_cache *inline_cache_new(void);
void inline_cache_free(struct inline_cache *ic);	/* accepts NULL */

/* NULL when @data is not sound: it may be anything. Not kept. */
struct inline_cache *inline_cache_parse(const void *data, size_t size);
/* Owned by the caller. Ranges are flattened first. */
void *inline_cache_format(struct inline_cache *ic, size_t *size);

/*
 * As inlines_lookup(). False when nothing is known of @svma. Names are borrowed from @ic.
 */
bool inline_cache_find(const struct inline_cache *ic, uint64_t svma, const char **names, size_t max,
		       size_t *n);

/* Index of a new entry. @name may be NULL. */
uint32_t inline_cache_add(struct inline_cache *ic, const char *name, uint32_t parent);

#endif
