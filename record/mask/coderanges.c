#include "mask/coderanges.h"

#include <immintrin.h>
#include <string.h>

#include "base/util.h"

#define PAGE (1u << CODERANGE_PAGE_BITS)

void coderanges_ask(struct coderanges_ask *ask, struct coderanges *cr, const struct maskset *ms, uint32_t tag)
{
	ask->cr = cr;
	ask->exec = ms->exec;
	ask->nexec = ms->nexec;
	ask->key = tag << 1;
	ask->salt = (uint64_t)tag << 32 | tag * 0x9e3779b9u >> 16;
}

__attribute__((noinline))
void coderanges_find(const struct coderanges_ask *ask, uint64_t v, struct coderange *r)
{
	/* The first range that ends at or above v. */
	const size_t i = BISECT(ask->nexec, k, ask->exec[k].end < v);

	if (i < ask->nexec && ask->exec[i].start <= v) {
		r->start = ask->exec[i].start;
		r->len = ask->exec[i].end - ask->exec[i].start;
		r->key = ask->key | 1;
		return;
	}
	r->start = i ? ask->exec[i - 1].end + 1 : 0;
	r->len = (i < ask->nexec ? ask->exec[i].start - 1 : UINT64_MAX) - r->start;
	r->key = ask->key;
}

/*
 * Handles word @from, behind @kept that are kept; returns their number then. No branch depends on
 * the word, because words follow no pattern.
 */
static inline uint32_t keep_word(const struct coderanges_ask *ask, uint64_t sp, uint64_t size,
				 struct stack_words *words, uint32_t from, uint32_t kept)
{
	const uint64_t v = words->val[from];
	const uint8_t stack = (v - sp <= size) & !(v % 8), code = coderanges_has(ask, v) & !stack;

	words->idx[kept] = words->idx[from];
	words->val[kept] = v;
	words->cls[kept] = (uint8_t)(stack * WORD_STACK | code * WORD_CODE);
	return kept + ((stack | code) & (v != 0));
}

uint32_t coderanges_keep_plain(const struct coderanges_ask *ask, uint64_t sp, uint64_t size,
			       struct stack_words *words, uint32_t n)
{
	const struct coderanges_ask a = *ask;	/* a copy, not read again after each word written */
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		kept = keep_word(&a, sp, size, words, i, kept);
	return kept;
}

/* ---- four at a time ---- */

/* Bits of four words to bytes of 1. */
static const uint32_t to_bytes[16] = {
	0x00000000, 0x00000001, 0x00000100, 0x00000101, 0x00010000, 0x00010001, 0x00010100, 0x00010101,
	0x01000000, 0x01000001, 0x01000100, 0x01000101, 0x01010000, 0x01010001, 0x01010100, 0x01010101,
};

__attribute__((target("avx2")))
static inline uint32_t sign_bits(__m256i v)
{
	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(v));
}

/*
 * How to bring together the words of a set of four, one bit each: numbers of their halves, and of
 * the bytes of four idx followed by four classes. What is behind the last one does not matter.
 */
#define REST(set) ((set) & ((set) - 1))
#define FIRST(set) ((set) & 1 ? 0 : (set) & 2 ? 1 : (set) & 4 ? 2 : 3)
#define NTH(X, set) X(FIRST(set)), X(FIRST(REST(set))), X(FIRST(REST(REST(set)))), X(FIRST(REST(REST(REST(set)))))
#define HALVES(w) 2 * (w), 2 * (w) + 1
#define CLASS(w) 8 + (w)
#define BYTES(set) { NTH(HALVES, set), NTH(CLASS, set) }
#define WORDS(set) { NTH(HALVES, set) }
#define SETS(X) { X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15) }
static const int32_t words_of[16][8] __attribute__((aligned(32))) = SETS(WORDS);
static const uint8_t bytes_of[16][16] __attribute__((aligned(16))) = SETS(BYTES);
static const uint8_t size_of[16] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 };

/* Remembers what the page of @v is, if it is the same everywhere. */
static inline void learn_page(const struct coderanges_ask *ask, uint64_t v)
{
	const struct coderange *r = coderanges_at(ask, v);
	const uint64_t page = align_down(v, PAGE);
	uint64_t *const entry = &ask->cr->page[(v / PAGE ^ ask->salt) % CODERANGE_PAGES];
	const bool all = (page + 1 - r->start <= r->len) & (page + PAGE - 1 - r->start <= r->len);

	*entry = all ? page | r->key : *entry;
}

/* Handles four words from @from on, one of them in an unknown page. */
__attribute__((noinline))
static uint32_t keep_learning(const struct coderanges_ask *ask, uint64_t sp, uint64_t size,
			      struct stack_words *words, uint32_t from, uint32_t kept)
{
	for (uint32_t i = from; i < from + 4; i++)
		learn_page(ask, words->val[i]);
	for (uint32_t i = from; i < from + 4; i++)
		kept = keep_word(ask, sp, size, words, i, kept);
	return kept;
}

/*
 * Only signed compares exist, so the sign bit is flipped on both sides. The page of a zero is never
 * known, because a zero is the first byte of its page.
 */
__attribute__((target("avx2")))
static uint32_t keep_avx2(const struct coderanges_ask *ask, uint64_t sp, uint64_t size,
			  struct stack_words *words, uint32_t n)
{
	const __m256i flip = _mm256_set1_epi64x(INT64_MIN);
	const __m256i lo = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)sp), flip);
	const __m256i limit = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)size), flip);
	const __m256i salt = _mm256_set1_epi64x((int64_t)ask->salt), key = _mm256_set1_epi64x((int64_t)ask->key);
	const __m256i last = _mm256_set1_epi64x(CODERANGE_PAGES - 1), offset = _mm256_set1_epi64x(PAGE - 1);
	uint32_t kept = 0, i;

	for (i = 0; i + 4 <= n; i += 4) {
		const __m256i v = _mm256_loadu_si256((const void *)&words->val[i]);
		const __m256i page = _mm256_andnot_si256(offset, v);
		const __m256i at = _mm256_and_si256(
			_mm256_xor_si256(_mm256_srli_epi64(v, CODERANGE_PAGE_BITS), salt), last);
		const __m256i e = _mm256_i64gather_epi64((const void *)ask->cr->page, at, 8);
		const __m256i diff = _mm256_andnot_si256(_mm256_set1_epi64x(1),
							 _mm256_xor_si256(_mm256_xor_si256(e, key), page));
		const __m256i known = _mm256_andnot_si256(_mm256_cmpeq_epi64(page, v),
							  _mm256_cmpeq_epi64(diff, _mm256_setzero_si256()));
		const __m256i aligned = _mm256_cmpeq_epi64(_mm256_slli_epi64(v, 61), _mm256_setzero_si256());
		const __m256i outside = _mm256_cmpgt_epi64(_mm256_sub_epi64(v, lo), limit);
		uint32_t stack = sign_bits(_mm256_andnot_si256(outside, aligned));
		uint32_t code = sign_bits(_mm256_slli_epi64(e, 63)) & ~stack, set, cls;
		__m128i small;

		if (sign_bits(known) != 15) {
			kept = keep_learning(ask, sp, size, words, i, kept);
			continue;
		}
		cls = to_bytes[stack] * WORD_STACK | to_bytes[code] * WORD_CODE;
		set = stack | code;
		/*
		 * Any set, without a branch: sets follow no pattern, and a mispredicted branch
		 * costs more.
		 */
		small = _mm_insert_epi32(_mm_loadl_epi64((const void *)&words->idx[i]), (int)cls, 2);
		small = _mm_shuffle_epi8(small, _mm_load_si128((const void *)bytes_of[set]));
		cls = (uint32_t)_mm_extract_epi32(small, 2);
		_mm_storel_epi64((void *)&words->idx[kept], small);
		memcpy(&words->cls[kept], &cls, sizeof(cls));
		_mm256_storeu_si256((void *)&words->val[kept],
				    _mm256_permutevar8x32_epi32(v, _mm256_load_si256((const void *)words_of[set])));
		kept += size_of[set];
	}
	for (; i < n; i++)
		kept = keep_word(ask, sp, size, words, i, kept);
	return kept;
}

coderanges_keep_fn coderanges_keep_best(void)
{
	return __builtin_cpu_supports("avx2") ? keep_avx2 : coderanges_keep_plain;
}
