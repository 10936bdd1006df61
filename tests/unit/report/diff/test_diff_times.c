/* Which times of a recording a profile covers, from its duration and its filters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/util.h"
#include "diff/diff_times.h"
#include "profile/profile.h"

#define S 1000000000ull

/* A profile of ten seconds with @times (NULL: none), in @n lines. */
static double within(const char *const *times, size_t n, uint64_t from, uint64_t to)
{
	struct profile *p = profile_new();
	struct spans s;
	double seconds;

	profile_set_meta(p, "duration_ns", "10000000000");
	for (size_t i = 0; i < n; i++)
		profile_set_meta(p, "times", times[i]);
	profile_finish(p);
	s = times_of(p);
	seconds = times_within(&s, from, to);
	for (size_t i = 0; i < s.n; i++)
		assert_true(s.v[i].from < s.v[i].to && (!i || s.v[i - 1].to < s.v[i].from));
	free(s.v);
	profile_free(p);
	return seconds;
}

#define WITHIN(from, to, ...) within((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), from, to)

static void test_times(void **state)
{
	(void)state;
	assert_true(within(NULL, 0, 0, UINT64_MAX) == 10);
	assert_true(within(NULL, 0, 9 * S, 11 * S) == 1);
	assert_true(WITHIN(0, UINT64_MAX, "5000000000-18446744073709551615") == 5);
	assert_true(WITHIN(0, 5 * S, "5000000000-18446744073709551615") == 0);
	/* In any order, overlapping, adjacent. */
	assert_true(WITHIN(0, UINT64_MAX, "7000000000-8000000000,1000000000-3000000000,2000000000-4000000000,4000000000-5000000000") == 5);
	assert_true(WITHIN(3 * S, 7 * S + S / 2, "7000000000-8000000000,1000000000-3000000000,2000000000-4000000000") == 1.5);
	/* Filtered twice. */
	assert_true(WITHIN(0, UINT64_MAX, "1000000000-4000000000,6000000000-9000000000", "3000000000-7000000000") == 2);
	assert_true(WITHIN(0, UINT64_MAX, "1000000000-4000000000", "4000000000-7000000000") == 0);
}

static void test_damaged(void **state)
{
	(void)state;
	assert_true(WITHIN(0, UINT64_MAX, "") == 0);
	assert_true(WITHIN(0, UINT64_MAX, "1000000000") == 0);
	assert_true(WITHIN(0, UINT64_MAX, "1000000000-") == 0);
	assert_true(WITHIN(0, UINT64_MAX, "3000000000-1000000000,-5") == 0);
	assert_true(WITHIN(0, UINT64_MAX, "0-1000000000,x") == 1);
	assert_true(WITHIN(0, UINT64_MAX, "0-99999999999999999999999") == 10);
}

/* Without stated times: as long as its blocks, whose number and width are arbitrary. */
static void test_blocks(void **state)
{
	struct profile *p = profile_new();
	struct spans s;

	(void)state;
	p->block_ns = S / 10;
	p->nblocks = 25;
	s = times_of(p);
	assert_true(times_within(&s, 0, UINT64_MAX) == 2.5);
	free(s.v);
	p->block_ns = UINT64_MAX;
	s = times_of(p);
	assert_true(times_within(&s, 0, S) == 1);
	free(s.v);
	p->block_ns = 0;
	s = times_of(p);
	assert_int_equal(s.n, 0);
	free(s.v);
	/* As awk prints large numbers. */
	profile_set_meta(p, "duration_ns", "6e+09");
	s = times_of(p);
	assert_true(times_within(&s, 0, UINT64_MAX) == 6);
	free(s.v);
	profile_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_blocks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
