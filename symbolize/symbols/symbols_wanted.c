/* Selects the symbols around given addresses (symbols_wanted.h). */
#include "symbols/symbols_wanted.h"

#include <stdlib.h>

#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"

#define SIEVE_BITS 15

/*
 * For a wanted address: the symbols that begin above the previous wanted address, up to this one.
 * After symbols_wanted_settle(): all symbols up to this one.
 */
struct around {
	uint64_t below;		/* start of the highest symbol */
	uint64_t cover, of;	/* the highest end of a symbol, and the start of that symbol */
	/* the lowest start above it, up to the next wanted one, then of all; UINT64_MAX: none */
	uint64_t above;
};

struct symbols_wanted {
	uint64_t *at;		/* owned; the wanted addresses, ascending, unique */
	struct around *around;	/* owned; by wanted address */
	size_t n;
	/* owned; by block of 1 << @shift bytes from at[0]: index of the first address not below */
	uint32_t *first;
	unsigned int shift;
	/* owned; ascending starts of sized symbols that hold an address, then of all kept ones */
	uint64_t *starts;
	size_t nstarts, cap;
	uint64_t sieve[(1u << SIEVE_BITS) / 64];	/* a bit per hash of a start: a quick test */
};

static size_t unique(uint64_t *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!k || v[k - 1] != v[i])
			v[k++] = v[i];
	return k;
}

static void index_addresses(struct symbols_wanted *sw)
{
	uint64_t span = sw->at[sw->n - 1] - sw->at[0], n;

	while (span >> sw->shift > 2 * sw->n)
		sw->shift++;
	n = (span >> sw->shift) + 1;
	sw->first = xmalloc(n * sizeof(*sw->first));
	for (uint64_t b = 0, i = 0; b < n; b++) {
		while ((sw->at[i] - sw->at[0]) >> sw->shift < b)
			i++;
		sw->first[b] = (uint32_t)i;
	}
}

struct symbols_wanted *symbols_wanted_new(const struct svma *at, size_t n)
{
	struct symbols_wanted *sw = xcalloc(1, sizeof(*sw));

	sw->at = xmalloc(n * sizeof(*sw->at));
	for (size_t i = 0; i < n; i++)
		sw->at[i] = at[i].v;
	sort_u64(sw->at, n);
	sw->n = unique(sw->at, n);
	sw->around = xmalloc(sw->n * sizeof(*sw->around));
	for (size_t i = 0; i < sw->n; i++)
		sw->around[i] = (struct around){ .above = UINT64_MAX };
	index_addresses(sw);
	return sw;
}

void symbols_wanted_free(struct symbols_wanted *sw)
{
	if (!sw)
		return;
	free(sw->at);
	free(sw->around);
	free(sw->first);
	free(sw->starts);
	free(sw);
}

/* Index of the first wanted address that is not below @svma; sw->n if there is none. */
static inline size_t from(const struct symbols_wanted *sw, uint64_t svma)
{
	size_t i;

	if (svma <= sw->at[0])
		return 0;
	if (svma > sw->at[sw->n - 1])
		return sw->n;
	for (i = sw->first[(svma - sw->at[0]) >> sw->shift]; sw->at[i] < svma; i++)
		;
	return i;
}

bool symbols_wanted_has(const struct symbols_wanted *sw, struct svma at)
{
	size_t i = from(sw, at.v);

	return i < sw->n && sw->at[i] == at.v;
}

bool symbols_wanted_matters(const struct symbols_wanted *sw, uint64_t svma, uint64_t size)
{
	const size_t i = from(sw, svma);

	return (i < sw->n && (svma > sw->around[i].below || svma + size > sw->around[i].cover || svma + size > sw->at[i])) ||
	       (i && svma < sw->around[i - 1].above);
}

void symbols_wanted_measure(struct symbols_wanted *sw, uint64_t svma, uint64_t size)
{
	const size_t i = from(sw, svma);

	if (i && svma < sw->around[i - 1].above)
		sw->around[i - 1].above = svma;
	if (i == sw->n)
		return;
	sw->around[i].below = MAX(sw->around[i].below, svma);
	if (svma + size > sw->around[i].cover) {
		sw->around[i].cover = svma + size;
		sw->around[i].of = svma;
	}
	if (svma + size <= sw->at[i] || (sw->nstarts && sw->starts[sw->nstarts - 1] == svma))
		return;
	XGROW(sw->starts, sw->nstarts, sw->cap);
	sw->starts[sw->nstarts++] = svma;
}

static uint32_t sieve_bit(uint64_t svma)
{
	return (uint32_t)(svma * 0x9e3779b97f4a7c15ull >> (64 - SIEVE_BITS));
}

void symbols_wanted_settle(struct symbols_wanted *sw)
{
	struct around *ar = sw->around;
	const size_t n = sw->n;

	for (size_t i = 1; i < n; i++) {
		ar[i].below = MAX(ar[i].below, ar[i - 1].below);
		if (ar[i - 1].cover > ar[i].cover) {
			ar[i].cover = ar[i - 1].cover;
			ar[i].of = ar[i - 1].of;
		}
		ar[n - 1 - i].above = MIN(ar[n - 1 - i].above, ar[n - i].above);
	}
	sw->cap = sw->nstarts + 3 * n;
	sw->starts = xrealloc(sw->starts, sw->cap * sizeof(*sw->starts));
	/* Neighbours mostly have the same values. */
	for (size_t i = 0; i < n; i++) {
		if (!i || ar[i].below != ar[i - 1].below)
			sw->starts[sw->nstarts++] = ar[i].below;
		if (!i || ar[i].above != ar[i - 1].above)
			sw->starts[sw->nstarts++] = ar[i].above;
		if (!i || ar[i].of != ar[i - 1].of)
			sw->starts[sw->nstarts++] = ar[i].of;
	}
	sort_u64(sw->starts, sw->nstarts);
	sw->nstarts = unique(sw->starts, sw->nstarts);
	for (size_t i = 0; i < sw->nstarts; i++)
		sw->sieve[sieve_bit(sw->starts[i]) / 64] |= 1ull << sieve_bit(sw->starts[i]) % 64;
}

bool symbols_wanted_keeps(const struct symbols_wanted *sw, uint64_t svma)
{
	size_t above;

	if (!(sw->sieve[sieve_bit(svma) / 64] >> sieve_bit(svma) % 64 & 1))
		return false;
	above = BISECT(sw->nstarts, i, sw->starts[i] <= svma);
	return above && sw->starts[above - 1] == svma;
}
