/* When samples and CPU time disagree: by more than what is tolerated, and than chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ran.h"

#define MS 1000000ull

/* @samples of 10 ms each on @ncpus CPUs. */
static bool covered(uint64_t used_ms, uint64_t samples, uint64_t ncpus)
{
	const struct ran_samples s = { .samples = samples, .period_ns = samples * 10 * MS, .ncpus = ncpus };

	return ran_covered(used_ms * 1000, &s);
}

static void test_covered(void **state)
{
	(void)state;
	assert_true(covered(10000, 1000, 2));
	assert_true(covered(11000, 1000, 2));
	assert_true(covered(9100, 1000, 2));
	/* More than 10 %, and 1000 samples do not vary by that: 4 * 31.6. */
	assert_false(covered(12000, 1000, 2));
	assert_false(covered(20000, 1000, 2));
	assert_false(covered(8000, 1000, 2));
	/* Nothing used, or nearly, and many samples. */
	assert_false(covered(0, 1000, 2));
	/* 100 samples do vary by 40. */
	assert_true(covered(1400, 100, 1));
	assert_false(covered(1600, 100, 1));
	/* One sample proves nothing; on 64 CPUs, nor do 50. */
	assert_true(covered(50, 1, 1));
	assert_true(covered(1300, 50, 64));
	assert_false(covered(1300, 50, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
