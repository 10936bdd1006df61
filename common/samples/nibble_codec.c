#include "samples/nibble_codec.h"

#include <assert.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

#define PROB_BITS 15
#define PROB_ONE (1u << PROB_BITS)
#define STATE_MIN (1u << 16)	/* the state is in [STATE_MIN, 2^32) and moves 16 bits at a time */

/*
 * Symbol s has the range [cum(s), cum(s + 1)) of PROB_ONE, where cum(0) is 0 and cum(16) is
 * PROB_ONE. Each range is at least 1 wide. Stored is the distance of cum(s) from its place with
 * even ranges, so that a bank begins as zeros and most of its pages are never touched. The lane of
 * cum(0) counts uses of the model: it grows by USE each time, up to its limit.
 */
struct model {
	int16_t off[16];
} __attribute__((aligned(32)));

#define EVEN (PROB_ONE / 16)
#define USE 258		/* times 127: one below a lane's maximum; upper byte: the count */
#define PAGE 4096u
#define GROUP (PAGE / sizeof(struct model))	/* models in a page of memory */
static_assert(NIBBLE_CONTEXTS % GROUP == 0, "whole pages");
#define BANK_BYTES (NIBBLE_CONTEXTS * sizeof(struct model) + sizeof(struct bounds))

struct range {
	uint16_t start, freq;
};

/* The starts of a model's ranges, and the end of the last one. */
struct bounds {
	uint16_t cum[24];
} __attribute__((aligned(16)));

/* Models; initially all zeros. */
struct bank {
	struct model *models;		/* owned; NIBBLE_CONTEXTS, then struct bounds: BANK_BYTES */
	uint8_t touched[NIBBLE_CONTEXTS / GROUP];	/* since the bank was reset */
};

struct nibble_enc {
	struct bank bank;
	struct range *range;		/* owned; one for each symbol of the block */
	size_t cap;
	uint16_t *code;			/* owned */
};

struct nibble_dec {
	struct bank bank;
	const uint8_t *at, *end;
	uint64_t left, plain;		/* symbols, coded and plain: one of these is 0 */
	uint32_t state;
	bool bad;
	bool wide;			/* the CPU supports take_wide() */
	bool half;			/* the low half of *at has been taken */
};

/* ---- models ---- */

/* Scratch for take_wide(), aligned like models: the C stack would have to be aligned first. */
static inline struct bounds *bank_bounds(struct bank *b)
{
	return (struct bounds *)&b->models[NIBBLE_CONTEXTS];
}

/*
 * Most of the time goes into fetching models. So no model lies across two cache lines, as every
 * other one would with malloc(), and no group lies across two pages.
 */
static void bank_init(struct bank *b)
{
	b->models = xpages(BANK_BYTES);
	bank_bounds(b)->cum[16] = (uint16_t)PROB_ONE;
}

/* Untouched models are still zeros: a small block touches few of the pages. */
static void bank_reset(struct bank *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->touched); i++) {
		if (!b->touched[i])
			continue;
		b->touched[i] = 0;
		memset(&b->models[i * GROUP], 0, GROUP * sizeof(*b->models));
	}
}

/* The model of @ctx, for writing. A page that is read before it is written faults twice. */
static inline struct model *bank_model(struct bank *b, uint32_t ctx)
{
	struct model *m = &b->models[ctx];

	if (__builtin_expect(!b->touched[ctx / GROUP], 0)) {
		b->touched[ctx / GROUP] = 1;
		memset(m, 0, sizeof(*m));
	}
	return m;
}

/* Where ranges move when symbol s was seen: all to s, but 1 for each other symbol. */
#define L(k, s) (int16_t)((int)((k) > (s) ? PROB_ONE - 16 + (k) : (k)) - (int)EVEN * (k))
#define ROW(s) { L(0, s), L(1, s), L(2, s), L(3, s), L(4, s), L(5, s), L(6, s), L(7, s), \
		 L(8, s), L(9, s), L(10, s), L(11, s), L(12, s), L(13, s), L(14, s), L(15, s) }
static const int16_t goal[16][16] __attribute__((aligned(32))) = {
	ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7),
	ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15),
};
#undef ROW
#undef L

static const int16_t even[16] __attribute__((aligned(32))) = {
#define E(k) (int16_t)(EVEN * (k))
	E(0), E(1), E(2), E(3), E(4), E(5), E(6), E(7),
	E(8), E(9), E(10), E(11), E(12), E(13), E(14), E(15),
#undef E
};

/* How far they move, as a shift, by the number of uses: at first quickly, then by 1/128. */
static const uint8_t rate[128] = {
	2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5,
	5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6,
	6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
};

/* A loaded model. */
struct lanes {
	__m128i lo, hi;			/* distances, 0 for symbol 0 */
	__m128i raw;			/* the lower half as stored */
};

static inline struct lanes model_load(const struct model *m)
{
	const __m128i rest = _mm_setr_epi16(0, -1, -1, -1, -1, -1, -1, -1);
	__m128i raw = _mm_load_si128((const __m128i *)&m->off[0]);

	return (struct lanes){ _mm_and_si128(raw, rest), _mm_load_si128((const __m128i *)&m->off[8]), raw };
}

/*
 * Stores the bounds for access by index. It does not depend on the coder's state, so it can run
 * ahead.
 */
static inline struct lanes lanes_bounds(const struct lanes *l, struct bounds *b)
{
	struct lanes cum = {
		.lo = _mm_add_epi16(l->lo, _mm_load_si128((const __m128i *)&even[0])),
		.hi = _mm_add_epi16(l->hi, _mm_load_si128((const __m128i *)&even[8])),
	};

	_mm_store_si128((__m128i *)&b->cum[0], cum.lo);
	_mm_store_si128((__m128i *)&b->cum[8], cum.hi);
	b->cum[16] = (uint16_t)PROB_ONE;
	return cum;
}

/*
 * Goals keep a distance of 1. All bounds move towards their goals by the same floored shift, so
 * ranges keep that distance, too.
 */
static inline void model_learn(struct model *m, const struct lanes *l, uint32_t sym)
{
	const __m128i use = _mm_setr_epi16(USE, 0, 0, 0, 0, 0, 0, 0);
	__m128i shift = _mm_cvtsi32_si128(rate[(uint16_t)m->off[0] >> 8]);
	__m128i glo = _mm_load_si128((const __m128i *)&goal[sym][0]);
	__m128i ghi = _mm_load_si128((const __m128i *)&goal[sym][8]);

	/* The lane of symbol 0 does not move, and is the only one that saturates. */
	glo = _mm_sra_epi16(_mm_sub_epi16(glo, l->lo), shift);
	ghi = _mm_sra_epi16(_mm_sub_epi16(ghi, l->hi), shift);
	_mm_store_si128((__m128i *)&m->off[0], _mm_adds_epi16(_mm_adds_epi16(l->raw, use), glo));
	_mm_store_si128((__m128i *)&m->off[8], _mm_add_epi16(l->hi, ghi));
}

/* One more than the symbol whose range holds @at. */
static inline uint32_t lanes_find(const struct lanes *cum, uint32_t at)
{
	__m128i v = _mm_set1_epi16((int16_t)at);
	__m128i above = _mm_packs_epi16(_mm_cmpgt_epi16(cum->lo, v), _mm_cmpgt_epi16(cum->hi, v));

	/* One bit for each bound above. */
	return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(above) | 0x10000);
}

/* ---- noting symbols ---- */

void nibble_grow(struct strbuf *out)
{
	out->cap = out->cap ? out->cap * 2 : 4096;
	out->s = xrealloc(out->s, out->cap);
}

/* Room for up to 32 more symbols, with a single check. */
static inline char *room(struct strbuf *out)
{
	if (out->cap - out->len < 32 * sizeof(uint32_t))
		nibble_grow(out);
	return out->s + out->len;
}

static inline char *put_sym(char *to, uint32_t ctx, uint32_t sym)
{
	uint32_t v = ctx << 4 | sym;

	memcpy(to, &v, sizeof(v));
	return to + sizeof(v);
}

void nibble_add(struct strbuf *out, const struct strbuf *syms)
{
	strbuf_add(out, syms->s, syms->len);
}

#define NUM_SYMBOLS 17u		/* most symbols of a number: its length and 16 digits */

/* Number of digits of @v; 15 stands for 16. */
static uint32_t num_digits(uint64_t v)
{
	uint32_t n = v ? (67 - (uint32_t)__builtin_clzll(v)) / 4 : 0;

	return MIN(n, 15u);
}

/*
 * Context of digit @i from the top, of @len digits with @top as the highest. The first depends on
 * the length, the second on the length and the first. The digits below have hardly any pattern.
 */
static inline uint32_t num_ctx(uint32_t ctx, uint32_t len, uint32_t i, uint32_t top)
{
	if (i > 1)
		return NIBBLE_FLAT;
	return ctx + (i ? 17 + (len << 4 | top) : 1 + len);
}

void nibble_put_num(struct strbuf *out, uint32_t ctx, uint64_t v)
{
	uint32_t len = num_digits(v), n = len == 15 ? 16 : len, top = 0;
	char *to = put_sym(room(out), ctx, len);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t digit = v >> 4 * (n - 1 - i) & 15;

		to = put_sym(to, num_ctx(ctx, len, i, top), digit);
		if (!i)
			top = digit;
	}
	out->len = (size_t)(to - out->s);
}

void nibble_put_snum(struct strbuf *out, uint32_t ctx, int64_t v)
{
	nibble_put_num(out, ctx, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void nibble_put_small(struct strbuf *out, uint32_t ctx, uint64_t v)
{
	nibble_put(out, ctx, (uint32_t)MIN(v, 15));
	if (v >= 15)
		nibble_put_num(out, ctx + 1, v - 15);
}

#define ID_DIGITS 5u

/* Number of digits of the largest id when there are @n ids. Higher digits are 0 and not coded. */
static inline uint32_t id_digits(uint32_t n)
{
	uint32_t digits = n > 1 ? (35 - (uint32_t)__builtin_clz(n - 1)) / 4 : 1;

	return MIN(digits, ID_DIGITS);
}

/*
 * Context of digit @i from the top, of five; @above: the digits before it. The lower four form a
 * tree.
 */
static inline uint32_t id_ctx(uint32_t i, uint32_t above)
{
	static const uint16_t first[ID_DIGITS] = { 273 + 4096, 0, 1, 17, 273 };
	static const uint16_t mask[ID_DIGITS] = { 0, 0, 0xf, 0xff, 0xfff };

	return first[i] + (above & mask[i]);
}

void nibble_put_id(struct strbuf *out, uint32_t ctx, uint32_t id, uint32_t n)
{
	char *to = room(out);

	for (uint32_t i = ID_DIGITS - id_digits(n); i < ID_DIGITS; i++) {
		uint32_t v = id >> 4 * (ID_DIGITS - 1 - i);

		to = put_sym(to, ctx + id_ctx(i, v >> 4), v & 15);
	}
	out->len = (size_t)(to - out->s);
}

/* ---- symbols to code ---- */

struct nibble_enc *nibble_enc_new(void)
{
	struct nibble_enc *e = xcalloc(1, sizeof(*e));

	bank_init(&e->bank);
	return e;
}

void nibble_enc_free(struct nibble_enc *e)
{
	if (!e)
		return;
	xpages_free(e->bank.models, BANK_BYTES);
	free(e->range);
	free(e->code);
	free(e);
}

void nibble_enc_reset(struct nibble_enc *e)
{
	bank_reset(&e->bank);
}

void nibble_enc_pack(struct nibble_enc *e, const struct strbuf *syms, struct strbuf *out)
{
	size_t n = syms->len / 4, at;
	uint32_t x = STATE_MIN;

	if (!n)
		return;
	if (e->cap < n) {
		/* Nothing in them is kept, and unused pages are never touched. */
		free(e->range);
		free(e->code);
		e->cap = n + n / 2;
		e->range = xmalloc(e->cap * sizeof(*e->range));
		e->code = xmalloc((e->cap + 2) * sizeof(*e->code));
	}
	for (size_t i = 0; i < n; i++) {
		struct bounds b;
		struct lanes l;
		struct model *m;
		uint32_t v;

		memcpy(&v, syms->s + 4 * i, 4);
		if (v >> 4 == NIBBLE_FLAT) {
			e->range[i] = (struct range){ (uint16_t)(EVEN * (v & 15)), EVEN };
			continue;
		}
		m = bank_model(&e->bank, v >> 4);
		l = model_load(m);
		lanes_bounds(&l, &b);
		e->range[i] = (struct range){ b.cum[v & 15], (uint16_t)(b.cum[(v & 15) + 1] - b.cum[v & 15]) };
		model_learn(m, &l, v & 15);
	}
	/* rANS is last in, first out. Encoding from the end lets the decoder go forward. */
	at = n + 2;
	for (size_t i = n; i--;) {
		uint32_t freq = e->range[i].freq;

		if (x >= freq << (32 - PROB_BITS)) {
			e->code[--at] = (uint16_t)x;
			x >>= 16;
		}
		x = (x / freq << PROB_BITS) + x % freq + e->range[i].start;
	}
	e->code[--at] = (uint16_t)x;
	e->code[--at] = (uint16_t)(x >> 16);
	strbuf_add(out, e->code + at, (n + 2 - at) * sizeof(*e->code));
}

void nibble_plain(const struct strbuf *syms, struct strbuf *out)
{
	size_t n = syms->len / 4;

	for (size_t i = 0; i < n; i += 2) {
		uint32_t v[2] = { 0 };

		memcpy(v, syms->s + 4 * i, i + 1 < n ? 8 : 4);
		strbuf_addc(out, (char)((v[0] & 15) | v[1] << 4));
	}
}

/* ---- code to symbols ---- */

struct nibble_dec *nibble_dec_new(void)
{
	struct nibble_dec *d = xcalloc(1, sizeof(*d));

	bank_init(&d->bank);
	d->wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
	return d;
}

bool nibble_dec_narrow(struct nibble_dec *d)
{
	bool was_wide = d->wide;

	d->wide = false;
	return was_wide;
}

void nibble_dec_free(struct nibble_dec *d)
{
	if (!d)
		return;
	xpages_free(d->bank.models, BANK_BYTES);
	free(d);
}

void nibble_dec_reset(struct nibble_dec *d)
{
	bank_reset(&d->bank);
}

static uint32_t next_bits(struct nibble_dec *d)
{
	uint16_t v;

	if (d->end - d->at < 2) {
		d->bad = true;
		return 0;
	}
	memcpy(&v, d->at, 2);
	d->at += 2;
	return v;
}

void nibble_dec_begin(struct nibble_dec *d, const void *code, size_t len, uint64_t n, bool plain)
{
	d->at = code;
	d->end = d->at + len;
	d->left = plain ? 0 : n;
	d->plain = plain ? n : 0;
	d->bad = false;
	d->state = STATE_MIN;
	d->half = false;
	if (n && !plain) {
		d->state = next_bits(d) << 16;
		d->state |= next_bits(d);
	}
}

bool nibble_dec_ok(const struct nibble_dec *d)
{
	return !d->bad;
}

bool nibble_dec_done(const struct nibble_dec *d)
{
	return !d->bad && !d->left && !d->plain && d->at == d->end && d->state == STATE_MIN;
}

/* The next plain symbol, if there is one. */
__attribute__((noinline, cold))
static uint32_t get_plain(struct nibble_dec *d)
{
	uint32_t sym;

	if (!d->plain || d->at == d->end) {
		d->bad = true;
		return 0;
	}
	d->plain--;
	sym = d->half ? *d->at >> 4 : *d->at & 15;
	if (d->half || !d->plain)
		d->at++;
	d->half = !d->half;
	return sym;
}

/*
 * Without a branch: whether bits are needed is unpredictable, and a mispredicted branch costs more.
 */
static inline void renew(struct nibble_dec *d, uint32_t *state)
{
	uint32_t few = *state < STATE_MIN;
	uint16_t v;

	if (__builtin_expect(d->end - d->at < 2, 0)) {
		if (few)
			*state = *state << 16 | next_bits(d);
		return;
	}
	memcpy(&v, d->at, 2);
	*state = *state << few * 16 | (v & -few);
	d->at += 2 * few;
}

/*
 * The next symbol under @ctx; there must be a coded one. The caller holds @state: all of decoding
 * waits for it, and memory would make the wait longer.
 */
static inline uint32_t take(struct nibble_dec *d, uint32_t *state, uint32_t ctx)
{
	struct model *m = bank_model(&d->bank, ctx);
	uint32_t at = *state & (PROB_ONE - 1), next, start;
	struct lanes l = model_load(m), cum;
	struct bounds b;

	cum = lanes_bounds(&l, &b);
	next = lanes_find(&cum, at);
	start = b.cum[next - 1];
	*state = (b.cum[next] - start) * (*state >> PROB_BITS) + at - start;
	model_learn(m, &l, next - 1);
	renew(d, state);
	return next - 1;
}

/* For functions that need instructions that not every CPU has. */
#define WIDE __attribute__((target("avx2,bmi,bmi2")))

/*
 * The same with a model in one register, with five sixths of the instructions. A lane is two bits
 * of a mask, so that positions there are twice a symbol's number.
 */
WIDE
static inline uint32_t take_wide(struct nibble_dec *d, uint32_t *state, uint32_t ctx)
{
	const __m256i rest = _mm256_setr_epi16(0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	const __m256i use = _mm256_setr_epi16(USE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	struct model *m = bank_model(&d->bank, ctx);
	uint32_t at = *state & (PROB_ONE - 1), twice;
	__m256i raw = _mm256_load_si256((const __m256i *)m->off), off = _mm256_and_si256(raw, rest);
	__m256i cum = _mm256_add_epi16(off, _mm256_load_si256((const __m256i *)even)), to;
	char *bounds = (char *)bank_bounds(&d->bank);
	uint16_t start, end;

	_mm256_store_si256((__m256i *)bounds, cum);
	/* If no bound is above, 32: the end of the last range. */
	twice = _tzcnt_u32((uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi16(cum, _mm256_set1_epi16((int16_t)at))));
	memcpy(&end, bounds + twice, sizeof(end));
	memcpy(&start, bounds + twice - 2, sizeof(start));
	*state = (uint32_t)(end - start) * (*state >> PROB_BITS) + at - start;
	/* As in model_learn(). */
	to = _mm256_load_si256((const __m256i *)((const char *)goal + (size_t)(twice - 2) * (sizeof(goal[0]) / 2)));
	to = _mm256_sra_epi16(_mm256_sub_epi16(to, off), _mm_cvtsi32_si128(rate[(uint16_t)m->off[0] >> 8]));
	_mm256_store_si256((__m256i *)m->off, _mm256_adds_epi16(_mm256_adds_epi16(raw, use), to));
	renew(d, state);
	return twice / 2 - 1;
}

/* The next symbol without a model. */
static inline uint32_t take_flat(struct nibble_dec *d, uint32_t *state)
{
	uint32_t at = *state & (PROB_ONE - 1);

	*state = EVEN * (*state >> PROB_BITS) + at % EVEN;
	renew(d, state);
	return at / EVEN;
}

/* take() or take_wide(). Functions with this argument are compiled for each of them. */
typedef uint32_t (*take_fn)(struct nibble_dec *d, uint32_t *state, uint32_t ctx);

__attribute__((always_inline))
static inline uint32_t get(struct nibble_dec *d, uint32_t ctx, take_fn take_sym)
{
	uint32_t state = d->state, sym;

	if (!d->left)
		return get_plain(d);
	d->left--;
	sym = ctx == NIBBLE_FLAT ? take_flat(d, &state) : take_sym(d, &state, ctx);
	d->state = state;
	return sym;
}

WIDE
static uint32_t get_wide(struct nibble_dec *d, uint32_t ctx)
{
	return get(d, ctx, take_wide);
}

uint32_t nibble_get(struct nibble_dec *d, uint32_t ctx)
{
	return d->wide ? get_wide(d, ctx) : get(d, ctx, take);
}

/* Are there @n more coded symbols? */
static inline bool has_coded(const struct nibble_dec *d, uint64_t n)
{
	return d->left >= n;
}

/* Reads a number symbol by symbol, for symbols that may end early or be plain. */
__attribute__((noinline))
static uint64_t get_num_slowly(struct nibble_dec *d, uint32_t ctx)
{
	uint32_t len = nibble_get(d, ctx), n = len == 15 ? 16 : len, top = 0;
	uint64_t v = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t digit = nibble_get(d, num_ctx(ctx, len, i, top));

		if (!i)
			top = digit;
		v = v << 4 | digit;
	}
	return v;
}

__attribute__((always_inline))
static inline uint64_t get_num(struct nibble_dec *d, uint32_t ctx, take_fn take_sym)
{
	uint32_t state = d->state, len, n;
	uint64_t v = 0;

	if (!has_coded(d, NUM_SYMBOLS))
		return get_num_slowly(d, ctx);
	len = take_sym(d, &state, ctx);
	n = len == 15 ? 16 : len;
	if (n)
		v = take_sym(d, &state, num_ctx(ctx, len, 0, 0));
	if (n > 1)
		v = v << 4 | take_sym(d, &state, num_ctx(ctx, len, 1, (uint32_t)v));
	for (uint32_t i = 2; i < n; i++)
		v = v << 4 | take_flat(d, &state);
	d->state = state;
	d->left -= n + 1;
	return v;
}

WIDE
static uint64_t get_num_wide(struct nibble_dec *d, uint32_t ctx)
{
	return get_num(d, ctx, take_wide);
}

uint64_t nibble_get_num(struct nibble_dec *d, uint32_t ctx)
{
	return d->wide ? get_num_wide(d, ctx) : get_num(d, ctx, take);
}

int64_t nibble_get_snum(struct nibble_dec *d, uint32_t ctx)
{
	uint64_t v = nibble_get_num(d, ctx);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

uint64_t nibble_get_small(struct nibble_dec *d, uint32_t ctx)
{
	uint32_t v = nibble_get(d, ctx);

	return v < 15 ? v : 15 + nibble_get_num(d, ctx + 1);
}

__attribute__((always_inline))
static inline uint32_t get_id(struct nibble_dec *d, uint32_t ctx, uint32_t n, take_fn take_sym)
{
	uint32_t digits = id_digits(n), id = 0, state = d->state;

	if (!has_coded(d, digits)) {
		for (uint32_t i = ID_DIGITS - digits; i < ID_DIGITS; i++)
			id = id << 4 | nibble_get(d, ctx + id_ctx(i, id));
		return id;
	}
	for (uint32_t i = ID_DIGITS - digits; i < ID_DIGITS; i++)
		id = id << 4 | take_sym(d, &state, ctx + id_ctx(i, id));
	d->state = state;
	d->left -= digits;
	return id;
}

WIDE
static uint32_t get_id_wide(struct nibble_dec *d, uint32_t ctx, uint32_t n)
{
	return get_id(d, ctx, n, take_wide);
}

uint32_t nibble_get_id(struct nibble_dec *d, uint32_t ctx, uint32_t n)
{
	return d->wide ? get_id_wide(d, ctx, n) : get_id(d, ctx, n, take);
}
