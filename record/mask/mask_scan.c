/* Range checks of stack words, eight at a time if the CPU has AVX2. */
#include "mask/mask_scan.h"

#include <immintrin.h>
#include <string.h>

#define UNIT_LAST ((1u << SCAN_UNIT_BITS) - 1)

static inline uint64_t unit_of(uint64_t v)
{
	return (v + UNIT_LAST) >> SCAN_UNIT_BITS;
}

void scan_set(struct scan_spans *sp, unsigned int i, uint64_t start, uint64_t end)
{
	uint64_t len = unit_of(end) - unit_of(start);

	sp->lo[i] = (uint32_t)unit_of(start);
	/* There is no unit behind the last one. */
	sp->len[i] = end < start || end > UINT64_MAX - UNIT_LAST || len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
}

static inline uint64_t scan_word(const struct scan_spans *sp, const unsigned char *p)
{
	uint64_t v, in = 0;
	uint32_t unit;

	memcpy(&v, p, sizeof(v));
	unit = (uint32_t)unit_of(v);
	for (unsigned int s = 0; s < SCAN_SPANS; s++)
		in |= unit - sp->lo[s] <= sp->len[s];
	return in;
}

/* No branches, because kinds of words follow no pattern. */
static uint64_t scan_words(const struct scan_spans *sp, const unsigned char *p, size_t n)
{
	uint64_t bits = 0;

	for (size_t k = 0; k < n; k++)
		bits |= scan_word(sp, p + k * 8) << k;
	return bits;
}

void scan_plain(const struct scan_spans *sp, const unsigned char *p, size_t n, uint64_t *bits)
{
	for (size_t i = 0; i < n; i += 64)
		*bits++ = scan_words(sp, p + i * 8, n - i < 64 ? n - i : 64);
}

/* The units of eight words, in the order 0 1 4 5 2 3 6 7: the shuffle stays within halves. */
__attribute__((target("avx2")))
static inline __m256i load_units(const unsigned char *p)
{
	const __m256i up = _mm256_set1_epi64x(UNIT_LAST);
	const __m256i a = _mm256_add_epi64(_mm256_loadu_si256((const void *)p), up);
	const __m256i b = _mm256_add_epi64(_mm256_loadu_si256((const void *)(p + 32)), up);

	return _mm256_castps_si256(_mm256_shuffle_ps(
		_mm256_castsi256_ps(_mm256_srli_epi64(a, SCAN_UNIT_BITS)),
		_mm256_castsi256_ps(_mm256_srli_epi64(b, SCAN_UNIT_BITS)), 0x88));
}

/* Which of eight words are outside of all spans, one bit each, in the order of load_units(). */
__attribute__((target("avx2")))
static inline uint64_t outside_mask(const __m256i *lo, const __m256i *limit, const unsigned char *p)
{
	const __m256i units = load_units(p);
	__m256i outside = _mm256_set1_epi32(-1);

#pragma GCC unroll 6
	for (int s = 0; s < SCAN_SPANS; s++)
		outside = _mm256_and_si256(outside, _mm256_cmpgt_epi32(
			_mm256_sub_epi32(units, lo[s]), limit[s]));
	return (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(outside));
}

/* Swaps the two middle pairs of bits in each byte. */
static uint64_t in_order(uint64_t v)
{
	return (v & 0xc3c3c3c3c3c3c3c3ull) | (v & 0x0c0c0c0c0c0c0c0cull) << 2 |
	       (v & 0x3030303030303030ull) >> 2;
}

/*
 * Only signed compares exist, so the sign bit is flipped on both sides: in the difference by moving
 * @lo, in the limit itself.
 */
__attribute__((target("avx2")))
static void scan_avx2(const struct scan_spans *sp, const unsigned char *p, size_t n, uint64_t *bits)
{
	__m256i lo[SCAN_SPANS], limit[SCAN_SPANS];
	uint64_t out;
	size_t i, k;

#pragma GCC unroll 6
	for (int s = 0; s < SCAN_SPANS; s++) {
		lo[s] = _mm256_set1_epi32((int)(sp->lo[s] - 0x80000000u));
		limit[s] = _mm256_set1_epi32((int)(sp->len[s] ^ 0x80000000u));
	}
	for (i = 0; i + 64 <= n; i += 64) {
		for (k = 0, out = 0; k < 64; k += 8)
			out |= outside_mask(lo, limit, p + (i + k) * 8) << k;
		*bits++ = in_order(~out);
	}
	if (i == n)
		return;
	for (k = 0, out = 0; i + k + 8 <= n; k += 8)
		out |= (~outside_mask(lo, limit, p + (i + k) * 8) & 0xff) << k;
	*bits = in_order(out);
	for (; i + k < n; k++)
		*bits |= scan_word(sp, p + (i + k) * 8) << k;
}

scan_fn scan_best(void)
{
	return __builtin_cpu_supports("avx2") ? scan_avx2 : scan_plain;
}

size_t scan_same_plain(const unsigned char *p, const unsigned char *q, size_t n, uint64_t lo, uint64_t len)
{
	size_t left = n;

	while (left >= SCAN_PIECE) {
		uint64_t other = 0, a, b;

		for (size_t k = left - SCAN_PIECE; k < left; k += 8) {
			memcpy(&a, p + k, sizeof(a));
			memcpy(&b, q + k, sizeof(b));
			other |= (a ^ b) | (a - lo < len);
		}
		if (other)
			break;
		left -= SCAN_PIECE;
	}
	return n - left;
}

/* As in scan_avx2(), the sign bit is flipped on both sides. */
__attribute__((target("avx2")))
static size_t scan_same_avx2(const unsigned char *p, const unsigned char *q, size_t n, uint64_t lo, uint64_t len)
{
	const __m256i flip = _mm256_set1_epi64x(INT64_MIN);
	const __m256i first = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)lo), flip);
	const __m256i limit = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)len), flip);
	size_t left = n;

	while (left >= SCAN_PIECE) {
		const __m256i a = _mm256_loadu_si256((const void *)(p + left - 64));
		const __m256i b = _mm256_loadu_si256((const void *)(p + left - 32));
		__m256i other = _mm256_xor_si256(a, _mm256_loadu_si256((const void *)(q + left - 64)));

		other = _mm256_or_si256(other, _mm256_xor_si256(b, _mm256_loadu_si256((const void *)(q + left - 32))));
		other = _mm256_or_si256(other, _mm256_cmpgt_epi64(limit, _mm256_sub_epi64(a, first)));
		other = _mm256_or_si256(other, _mm256_cmpgt_epi64(limit, _mm256_sub_epi64(b, first)));
		if (!_mm256_testz_si256(other, other))
			break;
		left -= SCAN_PIECE;
	}
	return n - left;
}

scan_same_fn scan_same_best(void)
{
	return __builtin_cpu_supports("avx2") ? scan_same_avx2 : scan_same_plain;
}
