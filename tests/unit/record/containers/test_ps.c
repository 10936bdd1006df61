/* The values that nsprof ps takes from kernel files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "containers/ps.h"

/* The format of Documentation/accounting/psi.rst; before Linux 5.13 cpu had no line "full". */
static void test_pressure(void **state)
{
	(void)state;
	assert_float_equal(ps_pressure("some avg10=12.34 avg60=5.67 avg300=1.89 total=987654321\n"
				       "full avg10=99.00 avg60=98.00 avg300=97.00 total=5\n"), 12.34, 1e-9);
	assert_float_equal(ps_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), 0, 1e-9);
	assert_float_equal(ps_pressure("some avg10=100.00 avg60=0.00 avg300=0.00 total=0\n"), 100, 1e-9);
	/*
	 * Pressure accounting is off for the cgroup (cgroup.pressure), or the file is another one.
	 */
	assert_true(ps_pressure("") < 0);
	assert_true(ps_pressure("full avg10=1.00 avg60=0.00 avg300=0.00 total=0\n") < 0);
	assert_true(ps_pressure("some avg60=1.00\n") < 0);
	assert_true(ps_pressure("usage_usec 12\n") < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pressure),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
