/*
 * Inlined functions that were looked up before, in the form in which the disk cache keeps them
 * (cache.h). Only inlines.c uses it.
 */
#ifndef NSPROF_INLINE_CACHE_H
#define NSPROF_INLINE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/ranges.h"

/* One inlined function. */
struct inline_entry {
	uint32_t name;		/* id in names; 0: no name is known */
	uint32_t parent;	/* earlier entry it is in; INLINE_NOTHING: the function */
};

#define INLINE_NOTHING UINT32_MAX	/* as the id of a range: nothing is inlined there */

struct inline_cache {
	struct ranges ranges;	/* svma -> innermost entry; flat, except for new additions */
	struct inline_entry *entries;	/* owned */
	size_t nentries, cap;
	struct intern *names;
};

struct inline_cache *inline_cache_new(void);
void inline_cache_free(struct inline_cache *ic);	/* accepts NULL */

/* NULL if @data is invalid: it can be anything. Keeps no reference to it. */
struct inline_cache *inline_cache_parse(const void *data, size_t size);
/* Returns a buffer owned by the caller. Flattens the ranges first. */
void *inline_cache_format(struct inline_cache *ic, size_t *size);

/* As inlines_lookup(). False if nothing is known about @svma. Names are borrowed from @ic. */
bool inline_cache_find(const struct inline_cache *ic, uint64_t svma, const char **names, size_t max,
		       size_t *n);

/* Adds an entry and returns its index. @name may be NULL. */
uint32_t inline_cache_add(struct inline_cache *ic, const char *name, uint32_t parent);

#endif
