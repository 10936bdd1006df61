/* Standstills: when nobody drained the rings, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/standstill.h"

#define MS 1000000ull
#define BEGIN (5000 * MS)

static void drained(struct standstill *st, uint64_t at_ms, uint64_t lost)
{
	standstill_wait(st, BEGIN + at_ms * MS);
	standstill_woke(st, BEGIN + at_ms * MS);
	standstill_drained(st, BEGIN + at_ms * MS, lost);
}

static void begin(struct standstill *st)
{
	standstill_init(st, 300);
	standstill_drained(st, BEGIN, 0);
}

/* Before the first drain, between two, and before the last one. */
static void test_anywhere(void **state)
{
	static const uint64_t drains[][3] = { { 2000, 2100, 2200 }, { 100, 2100, 2200 }, { 100, 200, 2200 } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct standstill st;

		begin(&st);
		for (int k = 0; k < 3; k++)
			drained(&st, drains[i][k], drains[i][k] >= 2000 ? 50 : 0);
		assert_int_equal(st.longest, 2000 * MS);
		assert_int_equal(st.total, 2000 * MS);
		assert_int_equal(st.why, STANDSTILL_FILES);
		assert_int_equal(standstill_other(&st, 50), 0);
	}
}

/* A drain that is less than a second late is no standstill; losses then have other causes. */
static void test_busy(void **state)
{
	struct standstill st;

	(void)state;
	begin(&st);
	drained(&st, 900, 0);
	drained(&st, 1800, 40);
	assert_int_equal(st.longest, 0);
	assert_int_equal(standstill_other(&st, 45), 45);
}

/* Losses reported long after a standstill are not part of it. */
static void test_others(void **state)
{
	struct standstill st;

	(void)state;
	begin(&st);
	drained(&st, 3000, 100);
	drained(&st, 3900, 150);
	drained(&st, 4800, 160);
	assert_int_equal(st.longest, 3000 * MS);
	assert_int_equal(standstill_other(&st, 160), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anywhere),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_others),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
