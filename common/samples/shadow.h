/*
 * The last known stack words of a thread, by runtime address. Encoder and decoder each keep one for
 * every thread and change it in the same way, so that a sample costs only the words that differ.
 *
 * Words lie in pages of 512, with a bitmap of the non-zero ones. A page exists from its first
 * non-zero word until the thread is cleared. So the stack of a coroutine or a signal handler takes
 * its own pages and leaves the others unchanged. Nothing here prints.
 */
#ifndef NSPROF_SHADOW_H
#define NSPROF_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#define SHADOW_PAGE_WORDS 512u
#define SHADOW_PAGE_SHIFT 12		/* 512 words of 8 bytes */
#define SHADOW_GROUPS (SHADOW_PAGE_WORDS / 64)

struct shadow_page {
	uint64_t nonzero[SHADOW_GROUPS];	/* bit n of group g: w[64 * g + n] != 0 */
	uint64_t w[SHADOW_PAGE_WORDS]; /* word n is at address (page number << 12) + 8 * n */
	struct shadow_page *next;		/* in the pool's free list */
};

/* Allocates pages and counts those in use. */
struct shadow_pool {
	struct shadow_page *free;	/* owned */
	size_t live;			/* pages in use by threads */
	size_t max;			/* limit of live */
};

struct shadow_slot {
	uint64_t no;			/* page number: runtime address >> 12 */
	struct shadow_page *page;	/* NULL: the slot is free */
};

struct shadow_thread {
	struct shadow_slot *slot;	/* owned; open addressing */
	size_t cap;			/* power of two, or 0 */
	size_t n;			/* pages */
};

void shadow_pool_init(struct shadow_pool *pool, size_t max_pages);
/* Clear all threads first. */
void shadow_pool_fini(struct shadow_pool *pool);

/* The page of runtime address @no << 12, or NULL. */
struct shadow_page *shadow_page_get(const struct shadow_thread *st, uint64_t no);
/* The same, but creates a missing page; NULL when the pool is at its limit. */
struct shadow_page *shadow_page_make(struct shadow_pool *pool, struct shadow_thread *st,
				     uint64_t no);

/* Forget all words. @st keeps no memory; its pages go back to the pool. */
void shadow_clear(struct shadow_pool *pool, struct shadow_thread *st);

/* Copy all words of @from to the empty @to, as far as the pool has room. */
void shadow_copy(struct shadow_pool *pool, struct shadow_thread *to, const struct shadow_thread *from);

/* Set the words at the 8-aligned runtime addresses [@lo, @hi) to 0. */
void shadow_zero(struct shadow_thread *st, uint64_t lo, uint64_t hi);

/* Word at 8-aligned runtime address @addr; 0 when unknown. */
uint64_t shadow_get(const struct shadow_thread *st, uint64_t addr);

/* Set word @n (below 512) of a page; keeps the bitmap right. */
static inline void shadow_page_set(struct shadow_page *p, unsigned int n, uint64_t val)
{
	p->w[n] = val;
	if (val)
		p->nonzero[n / 64] |= 1ull << (n % 64);
	else
		p->nonzero[n / 64] &= ~(1ull << (n % 64));
}

#endif
