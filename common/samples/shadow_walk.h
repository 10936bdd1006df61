/*
 * Walks the words that a thread's shadow has at the addresses of a copy, from the top down. Only
 * for word_codec.c.
 */
#ifndef NSPROF_SHADOW_WALK_H
#define NSPROF_SHADOW_WALK_H

#include <stdint.h>

#include "base/util.h"
#include "samples/shadow.h"
#include "samples/word_history.h"

struct walk {
	const struct shadow_thread *st;
	struct shadow_page *page;
	uint64_t lo, group;		/* addresses: the copy's lowest; of the current 64 words */
	uint64_t bits;			/* which of these are left and not 0 */
	struct place at;		/* the first of them */
};

static inline void walk_load(struct walk *w)
{
	w->bits = w->page ? w->page->nonzero[w->group / 512 % SHADOW_GROUPS] : 0;
	if (w->group <= w->lo)
		w->bits &= ~0ull << w->lo / 8 % 64;
}

/* Move to the next non-zero word, in a later group if need be. */
static inline void walk_settle(struct walk *w)
{
	uint64_t top;

	while (!w->bits && w->group > w->lo) {
		bool next = w->group % 4096 == 0;

		w->group -= 512;
		if (next)
			w->page = shadow_page_get(w->st, w->group >> SHADOW_PAGE_SHIFT);
		if (!w->page)
			w->group = align_down(w->group, 4096);
		walk_load(w);
	}
	if (!w->bits) {
		w->at = (struct place){ NOWHERE, 0 };
		return;
	}
	top = 63 - (unsigned int)__builtin_clzll(w->bits);
	w->at.addr = w->group + 8 * top;
	w->at.val = w->page->w[w->group / 8 % SHADOW_PAGE_WORDS + top];
}

/* [@lo, @hi) are 8-aligned addresses; the range may be empty. */
static inline void walk_begin(struct walk *w, const struct shadow_thread *st, uint64_t lo,
			      uint64_t hi)
{
	*w = (struct walk){ .st = st, .lo = lo, .group = align_down(hi - 8, 512) };
	if (lo == hi)
		return;
	w->page = shadow_page_get(st, w->group >> SHADOW_PAGE_SHIFT);
	walk_load(w);
	w->bits &= ~0ull >> (63 - (hi - 8) / 8 % 64);
	walk_settle(w);
}

static inline void walk_next(struct walk *w)
{
	w->bits ^= 1ull << w->at.addr / 8 % 64;
	walk_settle(w);
}

/* Move to the next word below @addr, which is above the copy's lower end. */
static inline void walk_below(struct walk *w, uint64_t addr)
{
	uint64_t group = align_down(addr - 8, 512);

	if (w->at.addr < addr)
		return;
	if (group != w->group) {
		if (group >> SHADOW_PAGE_SHIFT != w->group >> SHADOW_PAGE_SHIFT)
			w->page = shadow_page_get(w->st, group >> SHADOW_PAGE_SHIFT);
		w->group = group;
		walk_load(w);
	}
	w->bits &= ~0ull >> (63 - (addr - 8) / 8 % 64);
	walk_settle(w);
}

/* The next word below @addr. The walk must not have passed a word below @addr. */
static inline struct place walk_next_below(struct walk *w, uint64_t addr)
{
	if (addr > w->lo)
		walk_below(w, addr);
	return addr > w->lo ? w->at : (struct place){ NOWHERE, 0 };
}

#endif
