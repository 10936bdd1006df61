/* Lists of numbers, and the filter of addresses already seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/numlist.h"
#include "events/target.h"
#include "mask/seen_addrs.h"
#include "random.h"

static void expect(const char *text, bool ranges, const uint32_t *want, size_t n)
{
	uint32_t *v;
	size_t got;

	assert_int_equal(numlist_parse(text, ranges, 1000, &v, &got), 0);
	assert_int_equal(got, n);
	assert_memory_equal(v, want, n * sizeof(*v));
	free(v);
}

static void lists(void **state)
{
	(void)state;
	expect("7", false, (uint32_t[]){ 7 }, 1);
	expect("9,7,9,1000", false, (uint32_t[]){ 7, 9, 1000 }, 3);
	expect("0,2-4", true, (uint32_t[]){ 0, 2, 3, 4 }, 4);
	expect("3-3,1-2,2", true, (uint32_t[]){ 1, 2, 3 }, 3);
	expect("007", false, (uint32_t[]){ 7 }, 1);
}

static void bad_lists(void **state)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1,,2", "a", "1a", "1 2", " 1", "-1", "+1", "1-", "2-1",
		"1001", "99999999999999999999", "1-1001", "1-2-3", "0x10", "1.5",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t *v = (uint32_t *)1;
		size_t n = 9;

		assert_int_equal(numlist_parse(bad[i], true, 1000, &v, &n), -EINVAL);
		assert_null(v);
		assert_int_equal(n, 0);
	}
	/* A range is accepted only where one is allowed. */
	uint32_t *v;
	size_t n;

	assert_int_equal(numlist_parse("1-2", false, 1000, &v, &n), -EINVAL);
}

static bool saw(struct seen_addrs *s, uint32_t pid, uint64_t addr)
{
	return seen_addrs_new_addr(s, seen_addrs_owner(s, pid), addr);
}

static void seen_once(void **state)
{
	struct seen_addrs *s = seen_addrs_new();

	(void)state;
	/* Also for the values that an empty slot holds. */
	assert_true(saw(s, 0, 0));
	assert_false(saw(s, 0, 0));
	assert_true(saw(s, 10, 0x1000));
	assert_false(saw(s, 10, 0x1000));
	assert_true(saw(s, 10, 0x1008));
	/* The same address in another process is a different one. */
	assert_true(saw(s, 11, 0x1000));
	assert_true(saw(s, SEEN_ADDRS_KERNEL, 0x1000));
	assert_false(saw(s, SEEN_ADDRS_KERNEL, 0x1000));
	seen_addrs_free(s);
}

static void seen_again(void **state)
{
	struct seen_addrs *s = seen_addrs_new();

	(void)state;
	assert_true(saw(s, 10, 0x1000));
	assert_true(saw(s, 11, 0x1000));
	seen_addrs_forget(s, 10);
	assert_true(saw(s, 10, 0x1000));
	assert_false(saw(s, 11, 0x1000));
	seen_addrs_forget_all(s);
	assert_true(saw(s, 10, 0x1000));
	assert_true(saw(s, 11, 0x1000));
	seen_addrs_free(s);
}

/* More addresses than slots: some are reported twice, none is lost. */
static void seen_overflow(void **state)
{
	struct seen_addrs *s = seen_addrs_new();

	(void)state;
	for (uint64_t i = 0; i < 4 * SEEN_ADDRS_SLOTS; i++)
		assert_true(saw(s, 10, 0x400000 + 16 * i));
	seen_addrs_free(s);
}

/* Addresses that differ only above bit 47 are different. */
static void seen_high(void **state)
{
	struct seen_addrs *s = seen_addrs_new();

	(void)state;
	assert_true(saw(s, 10, 0x1000));
	assert_true(saw(s, 10, 0x1000 + (1ull << 48)));
	assert_true(saw(s, 10, 0x1000 + (1ull << 55)));
	assert_true(saw(s, SEEN_ADDRS_KERNEL, 0xffffffff81000000));
	assert_false(saw(s, SEEN_ADDRS_KERNEL, 0xffffffff81000000));
	assert_true(saw(s, SEEN_ADDRS_KERNEL, 0x0000ffff81000000));
	seen_addrs_free(s);
}

/* Far more processes than tags. None may be taken for an earlier one. */
static void seen_many(void **state)
{
	struct seen_addrs *s = seen_addrs_new();

	(void)state;
	for (uint32_t i = 1; i < 5 * SEEN_ADDRS_TAGS; i++) {
		assert_true(saw(s, i, 0x1000));
		assert_false(saw(s, i, 0x1000));
	}
	seen_addrs_free(s);
}

/*
 * From the words of a copy, exactly those that are neither stack addresses nor seen before, and
 * high ones, whatever surrounds them.
 */
static void seen_words(void **state)
{
	static const uint64_t high[] = { 0x0000ffffff600000, 0xffffffffff600000, 1ull << 47 };
	bool known[3][64] = { 0 };
	static struct stack_words words;
	struct seen_addrs *s = seen_addrs_new();
	uint64_t rnd = 7;

	(void)state;
	for (uint32_t round = 0; round < 300; round++) {
		const uint32_t who = round % 3, owner = seen_addrs_owner(s, 10 + who);
		uint32_t at = 0;

		words.nkept = (uint32_t)random_next(&rnd) % 40;
		/* The words after the last belong to an earlier copy. */
		for (uint32_t i = 0; i < 48; i++) {
			words.cls[i] = (uint8_t)(1 + random_next(&rnd) % 3);
			words.val[i] = 0x400000 + random_next(&rnd) % ARRAY_SIZE(known[0]);
			if (random_next(&rnd) % 32 == 0)
				words.val[i] = high[random_next(&rnd) % ARRAY_SIZE(high)];
		}
		for (uint32_t i = 0; i < words.nkept; i++) {
			bool is_high = words.val[i] >> 47, *old = &known[who][is_high ? 0 : words.val[i] - 0x400000];

			if (words.cls[i] == WORD_STACK || (!is_high && *old))
				continue;
			at = seen_addrs_skip(s, owner, &words, at, words.nkept);
			assert_int_equal(at, i);
			seen_addrs_new_addr(s, owner, words.val[at++]);
			*old |= !is_high;
		}
		assert_int_equal(seen_addrs_skip(s, owner, &words, at, words.nkept), words.nkept);
	}
	seen_addrs_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seen_words),
		cmocka_unit_test(lists),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(seen_once),
		cmocka_unit_test(seen_again),
		cmocka_unit_test(seen_high),
		cmocka_unit_test(seen_many),
		cmocka_unit_test(seen_overflow),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
