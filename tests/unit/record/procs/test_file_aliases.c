/* Keys of files that come and go with their containers: how many are kept, and which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "procs/file_aliases.h"

static struct file_aliases fa;

static int begin(void **state)
{
	(void)state;
	fa = (struct file_aliases){ .v = NULL };
	return 0;
}

static int end(void **state)
{
	(void)state;
	file_aliases_fini(&fa);
	return 0;
}

static struct file_key key_of(uint64_t mnt_ns, uint32_t path)
{
	return (struct file_key){ .mnt_ns = mnt_ns, .dev = 1, .ino = 100 + path, .path = path, .mtime_ns = -1 };
}

static uint32_t get(uint64_t mnt_ns, uint32_t path)
{
	const struct file_key k = key_of(mnt_ns, path);

	return file_aliases_get(&fa, &k);
}

static void put(uint64_t mnt_ns, uint32_t path, uint32_t dso)
{
	const struct file_key k = key_of(mnt_ns, path);

	file_aliases_put(&fa, &k, dso);
}

static void leads_to_the_binary(void **state)
{
	(void)state;
	assert_int_equal(get(1, 1), UINT32_MAX);
	put(1, 1, 0);
	put(1, 2, 7);
	put(2, 1, 8);
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(get(1, 2), 7);
	assert_int_equal(get(2, 1), 8);
	assert_int_equal(get(2, 2), UINT32_MAX);
	put(1, 2, 9);
	assert_int_equal(get(1, 2), 9);
	assert_int_equal(fa.n, 3);
}

/* 100,000 containers, one after the other, beside one that stays and often starts its programs. */
static void containers_come_and_go(void **state)
{
	size_t most = 0;

	(void)state;
	for (uint32_t path = 0; path < 300; path++)
		put(1, path, path);
	for (uint64_t ns = 2; ns < 100002; ns++) {
		for (uint32_t path = 0; path < 3; path++) {
			assert_int_equal(get(ns, path), UINT32_MAX);
			put(ns, path, path);
			assert_int_equal(get(ns, path), path);
		}
		/* Each of its keys once per 300 containers, which have 900. */
		assert_int_equal(get(1, (uint32_t)(ns % 300)), ns % 300);
		most = fa.n > most ? fa.n : most;
	}
	/* Of 300,300 keys, 303 are in use at any time. What is above that are two rounds. */
	assert_true(most < 303 + 2 * 2500);
}

/* More keys than there is room for, all in use: some are missing, none is wrong. */
static void too_many_in_use(void **state)
{
	size_t there = 0, asked = 0;

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		for (uint64_t ns = 1; ns <= 70000; ns++, asked++) {
			const uint32_t dso = get(ns, 1);

			if (dso == UINT32_MAX)
				put(ns, 1, (uint32_t)ns);
			else
				assert_int_equal(dso, ns);
			there += dso != UINT32_MAX;
			assert_true(fa.n <= 65536);
		}
	}
	printf("# %zu of %zu were there\n", there, asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(leads_to_the_binary, begin, end),
		cmocka_unit_test_setup_teardown(containers_come_and_go, begin, end),
		cmocka_unit_test_setup_teardown(too_many_in_use, begin, end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
