#include "mask/seen_addrs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

struct seen_addrs *seen_addrs_new(void)
{
	return xcalloc(1, sizeof(struct seen_addrs));
}

void seen_addrs_free(struct seen_addrs *s)
{
	free(s);
}

uint32_t seen_addrs_owner(struct seen_addrs *s, uint32_t pid)
{
	struct seen_addrs_owner *o = &s->owner[pid % SEEN_ADDRS_PIDS];

	if (o->tag && o->pid == pid)
		return o->tag;
	/* Never reuse another owner's tag: what that one saw would count as ours. */
	if (++s->last == SEEN_ADDRS_TAGS) {
		memset(s, 0, sizeof(*s));
		s->last = 1;
	}
	o->pid = pid;
	o->tag = s->last;
	return o->tag;
}

static inline uint64_t key_of(uint32_t owner, uint64_t addr)
{
	return addr << SEEN_ADDRS_TAG_BITS | owner;
}

/* The golden ratio: addresses near each other, as one process has them, get different slots. */
static inline size_t slot_of(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> (64 - SEEN_ADDRS_SLOT_BITS);
}

/*
 * Reads eight classes at a time: a branch for each word would be mispredicted every other time,
 * because words follow no pattern. Only addresses below 2^47 are told apart by their key.
 */
uint32_t seen_addrs_skip(const struct seen_addrs *s, uint32_t owner, const struct stack_words *words, uint32_t i, uint32_t n)
{
	static_assert(WORD_STACK == 1 && WORD_CODE == 2 && WORD_RAW == 3, "this bit is of what is no stack");
	static_assert(STACK_WORDS_MAX % 8 == 0, "there are eight to load");
	const uint64_t bit = 0x0202020202020202;
	uint64_t others, v, key;

	for (uint32_t first = i & ~7u; first < n; first += 8) {
		memcpy(&others, &words->cls[first], sizeof(others));
		others &= bit;
		if (first < i)
			others &= ~0ull << 8 * (i - first);
		if (n - first < 8)
			others &= (1ull << 8 * (n - first)) - 1;
		for (; others; others &= others - 1) {
			const uint32_t k = first + (uint32_t)__builtin_ctzll(others) / 8;

			v = words->val[k];
			key = key_of(owner, v);
			if ((s->slot[slot_of(key)] ^ key) | v >> 47)
				return k;
		}
	}
	return n;
}

/*
 * A key does not tell all addresses apart (five-level paging). Those count as new: a lookup is never
 * wrong.
 */
static bool has_key(uint64_t addr)
{
	return (uint64_t)((int64_t)(addr << SEEN_ADDRS_TAG_BITS) >> SEEN_ADDRS_TAG_BITS) == addr;
}

bool seen_addrs_has(const struct seen_addrs *s, uint32_t owner, uint64_t addr)
{
	const uint64_t key = key_of(owner, addr);

	return has_key(addr) && s->slot[slot_of(key)] == key;
}

bool seen_addrs_new_addr(struct seen_addrs *s, uint32_t owner, uint64_t addr)
{
	const uint64_t key = key_of(owner, addr);
	uint64_t *slot = &s->slot[slot_of(key)];

	if (!has_key(addr))
		return true;
	if (*slot == key)
		return false;
	*slot = key;
	return true;
}

void seen_addrs_forget(struct seen_addrs *s, uint32_t pid)
{
	struct seen_addrs_owner *o = &s->owner[pid % SEEN_ADDRS_PIDS];

	if (o->pid == pid)
		o->tag = 0;
}

void seen_addrs_forget_all(struct seen_addrs *s)
{
	for (size_t i = 0; i < SEEN_ADDRS_PIDS; i++)
		s->owner[i].tag = 0;
}
