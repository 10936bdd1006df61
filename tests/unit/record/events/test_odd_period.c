/* Periods of --off-cpu: odd primes or 1, with the mean that was asked for, and no step to fall into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "events/odd_period.h"
#include "random.h"

#define DRAWS 20000

static const uint64_t means[] = { 1, 2, 3, 4, 5, 8, 16, 17, 61, 64, 100, 1000, 4096, 100000 };

static bool odd_prime_or_1(uint64_t n)
{
	for (uint64_t d = 2; d < n; d++)
		if (n % d == 0)
			return false;
	return n % 2 == 1;
}

static void draws(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(means); m++) {
		const uint64_t mean = means[m];
		double sum = 0;

		for (int i = 0; i < DRAWS; i++) {
			const uint64_t n = odd_period_draw(mean, random_next(&random));

			if (i < 200)
				assert_true(odd_prime_or_1(n));
			/* A quarter around it, and on to the next prime (Bertrand: less than twice as far). */
			assert_true(n <= 5 * mean / 2 + 3);
			sum += (double)n;
		}
		assert_float_equal(sum / DRAWS, (double)mean, (double)mean * 0.02);
	}
}

/* Which of @cycle waits that come in turn are sampled: all, if the period changes now and then. */
static void sees_all_of_a_cycle(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (uint64_t cycle = 2; cycle <= 24; cycle++)
		for (size_t m = 0; m < ARRAY_SIZE(means); m++) {
			uint64_t hits[24] = { 0 }, at = 0;

			for (int i = 0; i < 400; i++) {
				const uint64_t period = odd_period_draw(means[m], random_next(&random));

				for (int k = 0; k < 16; k++) {
					at += period;
					hits[at % cycle]++;
				}
			}
			for (uint64_t i = 0; i < cycle; i++)
				assert_true(hits[i] > 0);
		}
}

static void nearest_in_turns(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(means); m++) {
		const uint64_t mean = means[m];
		double sum = 0;

		for (uint64_t i = 0; i < DRAWS; i++) {
			const uint64_t n = odd_period_near(mean, i);

			if (i < 200)
				assert_true(odd_prime_or_1(n));
			sum += (double)n;
		}
		assert_float_equal(sum / DRAWS, (double)mean, (double)mean * 0.001);
	}
	assert_int_equal(odd_period_near(4, 0) + odd_period_near(4, 1), 3 + 5);
	assert_int_equal(odd_period_near(61, 5), 61);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws),
		cmocka_unit_test(sees_all_of_a_cycle),
		cmocka_unit_test(nearest_in_turns),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
