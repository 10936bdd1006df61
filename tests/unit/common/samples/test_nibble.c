/*
 * Coding symbols under contexts: the symbols come back, their cost is as expected, and damaged
 * input ends the decoding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "in_range.h"
#include "random.h"
#include "samples/nibble_codec.h"
#include "samples/sample_ctx.h"

#define CTX 100u

static uint64_t rnd_state;

static uint64_t rnd(void)
{
	return random_next(&rnd_state);
}

/*
 * Every test runs twice: with the CPU's own instructions, and with only those that every CPU has.
 */
static bool wide = true, narrow;

static struct nibble_dec *dec_new(void **state)
{
	struct nibble_dec *d = nibble_dec_new();

	if (*state == &narrow)
		nibble_dec_narrow(d);
	return d;
}

/* Symbol @i of a sequence whose contexts are uniform, skewed, constant and changing. */
static uint32_t sym_of(uint32_t i, uint32_t *ctx)
{
	*ctx = i % 4;
	switch (i % 4) {
	case 0:
		return (uint32_t)rnd() & 15;
	case 1:
		return rnd() & 7 ? 3 : (uint32_t)rnd() & 15;
	case 2:
		return 15;
	default:
		return i / 5000 & 15;
	}
}

static void test_symbols(void **state)
{
	struct nibble_enc *e = nibble_enc_new();
	struct nibble_dec *d = dec_new(state);
	struct strbuf syms = STRBUF_INIT, code = STRBUF_INIT;
	uint64_t seed = rnd_state, again = seed, next;
	uint32_t ctx;
	bool plain;

	/*
	 * Blocks of many sizes; what was learnt carries over, until a reset clears it on both
	 * sides.
	 */
	for (uint32_t n = 0; n < 40000; n = n * 3 + 1) {
		strbuf_reset(&syms);
		strbuf_reset(&code);
		if (n == 364) {
			nibble_enc_reset(e);
			nibble_dec_reset(d);
		}
		for (uint32_t i = 0; i < n; i++) {
			uint32_t sym = sym_of(i, &ctx);

			nibble_put(&syms, CTX + ctx, sym);
		}
		next = rnd_state;
		/* Blocks in between that are not learnt from. */
		plain = n == 13 || n == 1093;
		if (plain)
			nibble_plain(&syms, &code);
		else
			nibble_enc_pack(e, &syms, &code);
		nibble_dec_begin(d, code.s, code.len, n, plain);
		rnd_state = again;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t sym = sym_of(i, &ctx);

			assert_false(nibble_dec_done(d));
			assert_int_equal(nibble_get(d, CTX + ctx), sym);
		}
		assert_true(nibble_dec_ok(d));
		assert_true(nibble_dec_done(d));
		assert_int_equal(rnd_state, next);
		again = next;
	}
	/*
	 * Four symbols: the first has 4 bits, the second an entropy of 0.98, the others hardly any:
	 * 0.62 bytes each time, plus the cost of learning.
	 */
	assert_within(code.len, 29524 / 4 * 60 / 100, 29524 / 4 * 72 / 100);
	nibble_get(d, CTX);
	assert_false(nibble_dec_ok(d));
	nibble_enc_free(e);
	nibble_dec_free(d);
	strbuf_fini(&syms);
	strbuf_fini(&code);
}

static void check_numbers(void **state, bool plain)
{
	struct nibble_enc *e = nibble_enc_new();
	struct nibble_dec *d = dec_new(state);
	struct strbuf syms = STRBUF_INIT, code = STRBUF_INIT;
	static const uint32_t counts[] = { 1, 2, 16, 17, 256, 257, 4096, 4097, 0xffff, 0x10000, 0x10001, 1u << 20 };

	for (unsigned int bit = 0; bit < 64; bit++)
		for (int off = -2; off <= 2; off++) {
			nibble_put_num(&syms, CTX_TIME, (1ull << bit) + (uint64_t)off);
			nibble_put_snum(&syms, CTX_SP, (int64_t)((1ull << bit) + (uint64_t)off));
			nibble_put_small(&syms, CTX_RUN, (1ull << bit) + (uint64_t)off);
		}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		for (uint32_t k = 0; k < 20; k++)
			nibble_put_id(&syms, CTX_NODE, counts[i] - 1 - counts[i] / 21 * k, counts[i]);
	if (plain)
		nibble_plain(&syms, &code);
	else
		nibble_enc_pack(e, &syms, &code);
	nibble_dec_begin(d, code.s, code.len, syms.len / 4, plain);
	for (unsigned int bit = 0; bit < 64; bit++)
		for (int off = -2; off <= 2; off++) {
			assert_true(nibble_get_num(d, CTX_TIME) == (1ull << bit) + (uint64_t)off);
			assert_true(nibble_get_snum(d, CTX_SP) ==
				    (int64_t)((1ull << bit) + (uint64_t)off));
			assert_true(nibble_get_small(d, CTX_RUN) == (1ull << bit) + (uint64_t)off);
		}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		for (uint32_t k = 0; k < 20; k++)
			assert_int_equal(nibble_get_id(d, CTX_NODE, counts[i]),
					 counts[i] - 1 - counts[i] / 21 * k);
	assert_true(nibble_dec_done(d));
	nibble_enc_free(e);
	nibble_dec_free(d);
	strbuf_fini(&syms);
	strbuf_fini(&code);
}

static void test_numbers(void **state)
{
	check_numbers(state, false);
	check_numbers(state, true);
}

/*
 * A value that can be any of 16 takes half a byte from the first one on, and a small number takes
 * one symbol.
 */
static void test_flat(void **state)
{
	struct nibble_enc *e = nibble_enc_new();
	struct nibble_dec *d = dec_new(state);
	struct strbuf syms = STRBUF_INIT, code = STRBUF_INIT;
	uint64_t v, again = rnd_state;

	for (uint32_t i = 0; i < 1000; i++) {
		nibble_put(&syms, NIBBLE_FLAT, (uint32_t)rnd() & 15);
		nibble_put_num(&syms, CTX_TIME, rnd() | 1ull << 63);
	}
	nibble_enc_pack(e, &syms, &code);
	/*
	 * Of 18 symbols for a number and the flat one, 15 are flat, and the length is always the
	 * same.
	 */
	assert_within(code.len, 1000 * 16 / 2, 1000 * 17 / 2 + 100);
	nibble_dec_begin(d, code.s, code.len, syms.len / 4, false);
	rnd_state = again;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(nibble_get(d, NIBBLE_FLAT), (uint32_t)rnd() & 15);
		v = nibble_get_num(d, CTX_TIME);
		assert_true(v == (rnd() | 1ull << 63));
	}
	assert_true(nibble_dec_done(d));
	strbuf_reset(&syms);
	nibble_put_small(&syms, CTX_RUN, 14);
	assert_int_equal(syms.len, 4);
	nibble_put_id(&syms, CTX_NODE, 0, 16);
	assert_int_equal(syms.len, 8);
	nibble_enc_free(e);
	nibble_dec_free(d);
	strbuf_fini(&syms);
	strbuf_fini(&code);
}

/* Arbitrary bytes decode to symbols below 16, and the end is detected wherever it is. */
static void test_damage(void **state)
{
	struct nibble_dec *d = dec_new(state);
	uint8_t junk[256];
	uint32_t n, short_ones = 0;

	for (int round = 0; round < 2000; round++) {
		size_t len = rnd() % sizeof(junk);
		uint8_t *copy = malloc(len + 1);	/* sanitizers see any access beyond it */

		for (size_t i = 0; i < len; i++)
			copy[i] = (uint8_t)rnd();
		nibble_dec_begin(d, copy, len, 1000, round % 4 == 3);
		for (n = 0; n < 1001 && nibble_dec_ok(d); n++)
			assert_true(nibble_get(d, (uint32_t)rnd() % NIBBLE_CONTEXTS) < 16);
		assert_false(nibble_dec_ok(d));
		short_ones += n < 1001;
		nibble_get_num(d, CTX_TIME);
		assert_true(nibble_get_id(d, CTX_NODE, 1u << 20) < 1u << 20);
		free(copy);
	}
	assert_true(short_ones > 1000);
	nibble_dec_free(d);
}

/* Symbols under contexts of every page, in an order in which each reset omits different ones. */
static void put_everywhere(struct strbuf *syms, uint32_t step)
{
	for (int round = 0; round < 8; round++)
		for (uint32_t ctx = step - 1; ctx < NIBBLE_CONTEXTS; ctx += step)
			nibble_put(syms, ctx, ctx / step & 15);
}

/*
 * A reset forgets all that was learnt, in each page, any number of times: the code is the same as
 * the first time.
 */
static void test_forget(void **state)
{
	static const uint32_t steps[] = { 50, 3000, 50, 128, 127, 50 };
	struct nibble_enc *e = nibble_enc_new();
	struct nibble_dec *d = dec_new(state);

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct strbuf syms = STRBUF_INIT, code = STRBUF_INIT, fresh = STRBUF_INIT;
		struct nibble_enc *other = nibble_enc_new();

		put_everywhere(&syms, steps[i]);
		nibble_enc_reset(e);
		nibble_enc_pack(e, &syms, &code);
		nibble_enc_pack(other, &syms, &fresh);
		assert_int_equal(code.len, fresh.len);
		assert_memory_equal(code.s, fresh.s, code.len);
		nibble_dec_reset(d);
		nibble_dec_begin(d, code.s, code.len, syms.len / 4, false);
		for (int round = 0; round < 8; round++)
			for (uint32_t ctx = steps[i] - 1; ctx < NIBBLE_CONTEXTS; ctx += steps[i])
				assert_int_equal(nibble_get(d, ctx), ctx / steps[i] & 15);
		assert_true(nibble_dec_done(d));
		nibble_enc_free(other);
		strbuf_fini(&syms);
		strbuf_fini(&code);
		strbuf_fini(&fresh);
	}
	nibble_enc_free(e);
	nibble_dec_free(d);
}

/*
 * Few symbols use few pages of models, even if others came before: a capture of a small file has no
 * more.
 */
static void test_few(void **state)
{
	struct strbuf syms = STRBUF_INIT, code = STRBUF_INIT;
	struct nibble_enc *e = nibble_enc_new();
	struct nibble_dec *d = dec_new(state);
	struct rusage before, after;

	for (uint32_t i = 0; i < 100; i++)
		nibble_put(&syms, CTX, 7);
	nibble_enc_pack(e, &syms, &code);
	getrusage(RUSAGE_THREAD, &before);
	for (int round = 0; round < 3; round++) {
		nibble_dec_reset(d);
		nibble_dec_begin(d, code.s, code.len, 100, false);
		for (uint32_t i = 0; i < 100; i++)
			assert_int_equal(nibble_get(d, CTX), 7);
		assert_true(nibble_dec_done(d));
	}
	getrusage(RUSAGE_THREAD, &after);
	/* There are 256 pages. */
	assert_true(after.ru_minflt - before.ru_minflt < 64);
	nibble_enc_free(e);
	nibble_dec_free(d);
	strbuf_fini(&syms);
	strbuf_fini(&code);
}

/*
 * Both implementations learn the same from any input: a recording decodes alike on every machine.
 */
static void test_alike(void **state)
{
	struct nibble_dec *a = nibble_dec_new(), *b = nibble_dec_new();
	static uint8_t junk[1 << 16];
	bool both = nibble_dec_narrow(b);

	(void)state;
	for (int round = 0; both && round < 24; round++) {
		/*
		 * Some rounds have few contexts, so that models are used more often than they
		 * count.
		 */
		const uint32_t contexts = round % 3 ? 1u << round / 3 * 2 : NIBBLE_CONTEXTS;

		for (size_t i = 0; i < sizeof(junk); i++)
			junk[i] = (uint8_t)(round % 4 == 3 ? rnd() % 3 ? 0xff : 0 : rnd());
		nibble_dec_begin(a, junk, sizeof(junk), 1u << 20, false);
		nibble_dec_begin(b, junk, sizeof(junk), 1u << 20, false);
		while (nibble_dec_ok(a)) {
			uint32_t ctx = (uint32_t)rnd() % contexts, how = (uint32_t)rnd() % 8;

			if (how == 0 && ctx + NIBBLE_NUM <= NIBBLE_CONTEXTS)
				assert_true(nibble_get_num(a, ctx) == nibble_get_num(b, ctx));
			else if (how == 1 && ctx + NIBBLE_ID <= NIBBLE_CONTEXTS)
				assert_int_equal(nibble_get_id(a, ctx, 1u << 20), nibble_get_id(b, ctx, 1u << 20));
			else
				assert_int_equal(nibble_get(a, ctx), nibble_get(b, ctx));
		}
		assert_false(nibble_dec_ok(b));
	}
	nibble_dec_free(a);
	nibble_dec_free(b);
	if (!both)
		skip();
}

#define AS_NARROW(test) { #test "_narrow", test, NULL, NULL, &narrow }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_few, &wide),	/* others reuse memory */
		cmocka_unit_test_prestate(test_symbols, &wide),
		cmocka_unit_test_prestate(test_numbers, &wide),
		cmocka_unit_test_prestate(test_flat, &wide),
		cmocka_unit_test_prestate(test_damage, &wide),
		cmocka_unit_test_prestate(test_forget, &wide),
		AS_NARROW(test_symbols),
		AS_NARROW(test_numbers),
		AS_NARROW(test_flat),
		AS_NARROW(test_damage),
		AS_NARROW(test_forget),
		cmocka_unit_test(test_alike),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
