/* Captured code: reading returns what was written, and no bytes crash the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "code/code_pack.h"
#include "random.h"

#define NBYTES 4096

static uint8_t code[NBYTES];

/* As many ranges as fit into @code, with gaps of 0 and more; *@counts is made up as well. */
static size_t make_ranges(uint64_t *rng, struct code_range *r, size_t max, struct code_counts *counts)
{
	uint64_t at = random_next(rng) >> (random_next(rng) % 60), all = 0;
	size_t n = 0;

	at = MIN(at, UINT64_MAX - (1ull << 32));
	while (n < max) {
		const uint64_t len = 1 + random_next(rng) % 200;

		if (all + len > NBYTES)
			break;
		r[n++] = (struct code_range){ at, len };
		all += len;
		at += len + (random_next(rng) % 4 ? random_next(rng) % 100000 : 0);
	}
	counts->samples = random_next(rng) % 10000;
	counts->missed = random_next(rng) % (counts->samples + 1);
	counts->missed_functions = random_next(rng) % 1000;
	return n;
}

/* Finds every byte at the position where the test put it. */
static void expect_bytes(const struct code_pack *cp, const struct code_range *r, size_t n)
{
	const uint8_t *want = code, *got;

	for (size_t i = 0; i < n; i++) {
		for (uint64_t k = 0; k < r[i].len; k++) {
			assert_int_equal(code_pack_find(cp, r[i].svma + k, &got), r[i].len - k);
			assert_memory_equal(got, want + k, r[i].len - k);
		}
		if (i + 1 == n || r[i + 1].svma > r[i].svma + r[i].len)
			assert_int_equal(code_pack_find(cp, r[i].svma + r[i].len, &got), 0);
		if (r[i].svma && (!i || r[i - 1].svma + r[i - 1].len < r[i].svma))
			assert_int_equal(code_pack_find(cp, r[i].svma - 1, &got), 0);
		want += r[i].len;
	}
}

static void comes_back(void **state)
{
	uint64_t rng = 1;

	(void)state;
	for (size_t i = 0; i < NBYTES; i++)
		code[i] = (uint8_t)random_next(&rng);
	for (int round = 0; round < 200; round++) {
		const struct code_range *got;
		struct code_range r[64];
		struct code_counts counts;
		struct strbuf sb = STRBUF_INIT;
		struct code_pack *cp;
		size_t n = make_ranges(&rng, r, (size_t)round % ARRAY_SIZE(r), &counts);

		code_pack_write(r, n, code, &counts, &sb);
		cp = code_pack_read(sb.s, sb.len);
		assert_non_null(cp);
		assert_int_equal(code_pack_ranges(cp, &got), n);
		if (n)
			assert_memory_equal(got, r, n * sizeof(*r));
		assert_memory_equal(code_pack_counts(cp), &counts, sizeof(counts));
		expect_bytes(cp, r, n);
		code_pack_free(cp);
		strbuf_fini(&sb);
	}
}

/* At both ends of the address space. */
static void ends_of_space(void **state)
{
	const struct code_range r[] = { { 0, 1 }, { UINT64_MAX - 9, 10 } };
	const struct code_counts counts = { 1, 0, 0 };
	struct strbuf sb = STRBUF_INIT;
	struct code_pack *cp;
	const uint8_t *got;

	(void)state;
	code_pack_write(r, 2, code, &counts, &sb);
	cp = code_pack_read(sb.s, sb.len);
	/* The end would be 2^64: such a range cannot be told from one that wraps around. */
	assert_null(cp);
	strbuf_reset(&sb);
	code_pack_write((struct code_range[]){ r[0], { UINT64_MAX - 10, 10 } }, 2, code, &counts, &sb);
	cp = code_pack_read(sb.s, sb.len);
	assert_non_null(cp);
	assert_int_equal(code_pack_find(cp, 0, &got), 1);
	assert_int_equal(code_pack_find(cp, UINT64_MAX - 1, &got), 1);
	assert_int_equal(*got, code[10]);
	assert_int_equal(code_pack_find(cp, UINT64_MAX, &got), 0);
	code_pack_free(cp);
	strbuf_fini(&sb);
}

/*
 * Whatever is accepted has ordered ranges, and as many bytes as they declare (a sanitizer watches).
 */
static void expect_sane(const void *data, size_t len)
{
	struct code_pack *cp = code_pack_read(data, len);
	const struct code_range *r;
	const uint8_t *bytes;
	unsigned int sum = 0;
	size_t n, all = 0;

	if (!cp)
		return;
	n = code_pack_ranges(cp, &r);
	for (size_t i = 0; i < n; i++) {
		assert_true(r[i].len > 0 && r[i].svma + r[i].len > r[i].svma);
		assert_true(!i || r[i].svma >= r[i - 1].svma + r[i - 1].len);
		all += r[i].len;
		assert_int_equal(code_pack_find(cp, r[i].svma, &bytes), r[i].len);
		for (size_t k = 0; k < r[i].len; k++)
			sum += bytes[k];
	}
	assert_true(all <= len);
	assert_true(sum <= 255 * all);
	assert_true(code_pack_counts(cp)->missed <= code_pack_counts(cp)->samples);
	code_pack_free(cp);
}

static void damage(void **state)
{
	const struct code_counts counts = { 1000, 10, 2 };
	const struct code_range r[] = { { 0x1000, 70 }, { 0x1046, 3 }, { 0x7fff00001000, 300 } };
	struct strbuf sb = STRBUF_INIT;
	uint64_t rng = 7;

	(void)state;
	code_pack_write(r, 3, code, &counts, &sb);
	/* Input with missing or extra bytes is never accepted. */
	for (size_t len = 0; len < sb.len; len++) {
		uint8_t *cut = malloc(len + 1);

		memcpy(cut, sb.s, len);
		assert_null(code_pack_read(cut, len));
		free(cut);
	}
	strbuf_addc(&sb, 0);
	assert_null(code_pack_read(sb.s, sb.len));
	sb.len--;
	for (int i = 0; i < 100000; i++) {
		uint8_t *bad = malloc(sb.len);

		memcpy(bad, sb.s, sb.len);
		for (unsigned int k = 0; k < 1 + (unsigned int)i % 3; k++)
			bad[random_next(&rng) % 24] = (uint8_t)random_next(&rng);
		expect_sane(bad, sb.len);
		free(bad);
	}
	strbuf_fini(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(ends_of_space),
		cmocka_unit_test(damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
