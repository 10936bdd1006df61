/*
 * Radix sort, lowest digit first (Knuth, TAOCP 3, 5.2.5, algorithm R). Digits that are equal in all
 * numbers are skipped.
 */
#include "base/sort_u64.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define FEW 32u		/* up to this many numbers are sorted by insertion */
#define DIGIT 8u	/* bits */
#define DIGITS (1u << DIGIT)

static void insert_each(uint64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = v[i];
		size_t at = i;

		for (; at && v[at - 1] > x; at--)
			v[at] = v[at - 1];
		v[at] = x;
	}
}

static void by_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned int shift)
{
	size_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i] >> shift & (DIGITS - 1)]++;
	for (unsigned int d = 0; d < DIGITS; d++) {
		const size_t count = at[d];

		at[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

void sort_u64(uint64_t *v, size_t n)
{
	uint64_t *tmp, *from = v, *to, differ = 0;

	if (n <= FEW) {
		insert_each(v, n);
		return;
	}
	for (size_t i = 1; i < n; i++)
		differ |= v[i] ^ v[0];
	tmp = to = xmalloc(n * sizeof(*tmp));
	for (unsigned int shift = 0; shift < 64; shift += DIGIT) {
		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		by_digit(from, to, n, shift);
		from = to;
		to = from == v ? tmp : v;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(tmp);
}
