#include "samples/shadow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "stackcopy.h"

void shadow_pool_init(struct shadow_pool *pool, size_t max_pages)
{
	pool->free = NULL;
	pool->live = 0;
	pool->max = max_pages;
}

void shadow_pool_fini(struct shadow_pool *pool)
{
	struct shadow_page *p;

	while ((p = pool->free)) {
		pool->free = p->next;
		free(p);
	}
}

struct shadow_page *shadow_page_get(const struct shadow_thread *st, uint64_t no)
{
	if (!st->cap)
		return NULL;
	for (size_t i = hash_u64(no) & (st->cap - 1);; i = (i + 1) & (st->cap - 1)) {
		if (!st->slot[i].page)
			return NULL;
		if (st->slot[i].no == no)
			return st->slot[i].page;
	}
}

static void insert(struct shadow_thread *st, uint64_t no, struct shadow_page *page)
{
	size_t i = hash_u64(no) & (st->cap - 1);

	while (st->slot[i].page)
		i = (i + 1) & (st->cap - 1);
	st->slot[i].no = no;
	st->slot[i].page = page;
}

static void grow(struct shadow_thread *st)
{
	struct shadow_slot *old = st->slot;
	size_t n = st->cap;

	st->cap = n ? n * 2 : 8;
	st->slot = xcalloc(st->cap, sizeof(*st->slot));
	for (size_t i = 0; i < n; i++)
		if (old[i].page)
			insert(st, old[i].no, old[i].page);
	free(old);
}

struct shadow_page *shadow_page_make(struct shadow_pool *pool, struct shadow_thread *st,
				     uint64_t no)
{
	struct shadow_page *p = shadow_page_get(st, no);

	if (p)
		return p;
	if (pool->live >= pool->max)
		return NULL;
	p = pool->free;
	if (p)
		pool->free = p->next;
	else
		p = xmalloc(sizeof(*p));
	memset(p, 0, sizeof(*p));
	pool->live++;
	/* At most half full, so that failing look-ups stay short. */
	if (st->n * 2 >= st->cap)
		grow(st);
	insert(st, no, p);
	st->n++;
	return p;
}

void shadow_clear(struct shadow_pool *pool, struct shadow_thread *st)
{
	for (size_t i = 0; i < st->cap; i++) {
		struct shadow_page *p = st->slot[i].page;

		if (p) {
			p->next = pool->free;
			pool->free = p;
		}
	}
	pool->live -= st->n;
	free(st->slot);
	memset(st, 0, sizeof(*st));
}

void shadow_copy(struct shadow_pool *pool, struct shadow_thread *to, const struct shadow_thread *from)
{
	for (size_t i = 0; i < from->cap; i++) {
		const struct shadow_page *known = from->slot[i].page;
		struct shadow_page *p = known ? shadow_page_make(pool, to, from->slot[i].no) : NULL;

		if (!p)
			continue;
		memcpy(p->nonzero, known->nonzero, sizeof(p->nonzero));
		memcpy(p->w, known->w, sizeof(p->w));
	}
}

void shadow_zero(struct shadow_thread *st, uint64_t lo, uint64_t hi)
{
	while (lo < hi) {
		struct shadow_page *p = shadow_page_get(st, lo >> SHADOW_PAGE_SHIFT);
		uint64_t next = MIN(align_down(lo, p ? 512 : 4096) + (p ? 512 : 4096), hi);
		unsigned int group = lo / 512 % SHADOW_GROUPS;
		uint64_t bits;

		if (p) {
			bits = ~0ull >> (64 - (next - lo) / 8) << lo / 8 % 64 & p->nonzero[group];
			p->nonzero[group] ^= bits;
			for (; bits; bits &= bits - 1)
				p->w[64 * group + (unsigned int)__builtin_ctzll(bits)] = 0;
		}
		lo = next;
	}
}

uint64_t shadow_get(const struct shadow_thread *st, uint64_t addr)
{
	const struct shadow_page *p = shadow_page_get(st, addr >> SHADOW_PAGE_SHIFT);

	return p ? p->w[addr / 8 % SHADOW_PAGE_WORDS] : 0;
}

int stack_view_read(const struct stack_view *sv, uint64_t addr, uint64_t *val)
{
	uint64_t at = align_down(addr, 8);
	unsigned int shift = (addr - at) * 8;

	/*
	 * The shadow knows more addresses than this sample copied. Their words are older and must
	 * stay hidden.
	 */
	if (addr < sv->lo || addr >= sv->hi || sv->hi - addr < 8)
		return -EFAULT;
	*val = shadow_get(sv->shadow, at);
	if (shift)
		*val = *val >> shift | shadow_get(sv->shadow, at + 8) << (64 - shift);
	return 0;
}

_Static_assert(STACK_PAGE_WORDS == SHADOW_PAGE_WORDS, "a page is a page");

const uint64_t *stack_view_page(const struct stack_view *sv, uint64_t addr)
{
	const struct shadow_page *p = shadow_page_get(sv->shadow, addr >> SHADOW_PAGE_SHIFT);

	return p ? p->w : NULL;
}

bool stack_view_hole(const struct stack_view *sv, uint64_t addr)
{
	return addr >= sv->hi && sv->hi % 4096 == 0 && shadow_page_get(sv->shadow, addr >> SHADOW_PAGE_SHIFT);
}
