/* How long a thread waits for openers: what answers late costs as much as what does not answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <time.h>

#include "host/clock.h"
#include "host/opener_loss.h"

#define MS 1000000ull

static char path[64];
static struct fileop op = { .kind = FILEOP_FILE, .fd = { -1, -1 }, .path = path };

/* Tenant @who asks for a new file, which answers after @ms. How long the caller waited, ns. */
static uint64_t asks(uint64_t who, uint64_t ms, bool local)
{
	static unsigned int files;
	uint64_t key, wait;

	snprintf(path, sizeof(path), "/%u/file", files++);
	opener_for(who, "", 0);
	wait = opener_loss_wait(&op, &key);
	if (wait < ms * MS)
		return wait;
	opener_loss_answered(&op, key, local, ms * MS);
	return ms * MS;
}

/* How much it may lose in the time since @begun, ns: contrib/doc/opener.md. One answer more may be waited for. */
static uint64_t bound(uint64_t burst, uint64_t percent, uint64_t begun)
{
	return 2 * burst + (clock_mono_ns() - begun) / 100 * percent + 80 * MS;
}

static void count_one(void *ctx, const struct opener_miss *m)
{
	*(uint64_t *)ctx += !m->tries;
}

static bool nothing_is(void *ctx, const struct opener_miss *m)
{
	(void)ctx;
	(void)m;
	return false;
}

static void test_late(void **state)
{
	const uint64_t begun = clock_mono_ns();
	uint64_t waited = 0, refused = 0;

	(void)state;
	opener_be(&opener_hurried);
	for (int i = 0; i < 100; i++)
		waited += asks(1, 8, i % 2);
	/* 800 ms, if answers were free. */
	assert_in_range(waited, 80 * MS, bound(80 * MS, 5, begun));
	assert_int_equal(asks(2, 9, false), 9 * MS);
	opener_misses(count_one, &refused);
	assert_true(refused > 50);
	assert_true(opener_unread() >= refused);
	opener_misses_settle(nothing_is, NULL);
	assert_int_equal(opener_unread(), 0);
}

/* A tenant per file, as one that makes cgroups without end would like to have. */
static void test_many(void **state)
{
	const uint64_t begun = clock_mono_ns();
	uint64_t waited = 0;

	(void)state;
	for (int round = 0; round < 100; round++)
		for (uint64_t who = 10; who < 30; who++)
			waited += asks(who, 8, false);
	/* 16 s, if answers were free; 20 times 5 %, if tenants did not share. */
	assert_true(waited < 20 * 80 * MS + bound(160 * MS, 15, begun));
	/* Whoever lost nothing is still asked. */
	assert_int_equal(asks(99, 9, false), 9 * MS);
}

/* Others, whose user waits, may wait for what answers late. */
static void test_patient(void **state)
{
	(void)state;
	opener_be(NULL);
	for (int i = 0; i < 100; i++)
		assert_int_equal(asks(200, 900, false), 900 * MS);
	opener_be(&opener_hurried);
	assert_int_equal(asks(200, 9, false), 9 * MS);
}

/* At the end of a recording only waiting counts as loss, and one late answer takes a quarter of what may be lost. */
static void test_last(void **state)
{
	const struct timespec longer = { .tv_nsec = 500 * MS };
	uint64_t waited = 0;

	(void)state;
	opener_be(NULL);
	opener_last_chance(400 * MS);
	nanosleep(&longer, NULL);
	for (int i = 0; i < 100; i++)
		assert_int_equal(asks(300, 90, true), 90 * MS);
	assert_in_range(asks(300, 1000, false), 100 * MS, 100 * MS);
	for (int i = 0; i < 10; i++)
		waited += asks(301, 15, false);
	assert_int_equal(waited, 150 * MS);
	assert_in_range(asks(302, 1000, false), 62 * MS, 63 * MS);
	for (int i = 0; i < 100; i++)
		asks(303, 15, false);
	assert_int_equal(asks(304, 1000, false), 20 * MS);
	assert_int_equal(opener_loss_most(), 1000 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late), cmocka_unit_test(test_many), cmocka_unit_test(test_patient),
		cmocka_unit_test(test_last),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
