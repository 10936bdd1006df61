#include "procs/addrset.h"

#include "base/sort_u64.h"
#include "base/xalloc.h"

static uint64_t bit_of(uint64_t addr)
{
	return 1ull << (addr % 64);
}

bool addrset_has(const struct addrset *s, uint64_t addr)
{
	const uint64_t *bits = u64map_get(&s->chunks, addr / 64);

	return bits && *bits & bit_of(addr);
}

void addrset_add(struct addrset *s, uint64_t addr)
{
	uint64_t *bits = u64map_put(&s->chunks, addr / 64, NULL);

	s->n += !(*bits & bit_of(addr));
	*bits |= bit_of(addr);
}

uint64_t *addrset_sorted(const struct addrset *s)
{
	uint64_t *out = xmalloc((s->n + 1) * sizeof(*out)), chunk, bits;
	size_t it = 0, n = 0;

	while (u64map_next(&s->chunks, &it, &chunk, &bits)) {
		for (; bits; bits &= bits - 1)
			out[n++] = chunk * 64 + (uint64_t)__builtin_ctzll(bits);
	}
	sort_u64(out, n);
	return out;
}

void addrset_clear(struct addrset *s)
{
	u64map_clear(&s->chunks);
	s->n = 0;
}

void addrset_fini(struct addrset *s)
{
	u64map_fini(&s->chunks);
	s->n = 0;
}
