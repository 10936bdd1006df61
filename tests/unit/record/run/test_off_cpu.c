/*
 * How often threads that leave the CPU give a stack. Where time matters, the kernel's part is played
 * after perf_swevent_set_period() and _perf_event_period() in kernel/events/: a new period restarts
 * the count of an event that is not on a CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "events/odd_period.h"
#include "run/off_cpu.h"
#include "random.h"

#define SEC 1000000000ull

static void mean_bounds_stacks(void **state)
{
	(void)state;
	/* So few that all may be taken. */
	assert_int_equal(off_cpu_mean(0, SEC, 1400), 1);
	assert_int_equal(off_cpu_mean(139, SEC / 10, 1400), 1);
	/* 100,000 per second, however long it was watched. */
	for (uint64_t ns = SEC / 1000; ns <= SEC; ns *= 10)
		assert_in_range(off_cpu_mean(100000 * ns / SEC, ns, 1400), 71, 73);
	assert_int_equal(off_cpu_mean(5, 0, 1400), 1);
	for (uint64_t rate = 1; rate < 100000000; rate *= 3)
		assert_true(rate / off_cpu_mean(rate, SEC, 1400) <= 1400);
}

/* Stacks of @switches that come with @hz, at a mean of @mean. */
static uint64_t stacks(uint64_t switches, uint64_t hz, uint64_t mean)
{
	uint64_t random = mean, period = mean, counted = 0, since = 0, taken = 0, step = 1;

	for (uint64_t i = 0; i < switches; i++) {
		for (; i * SEC / hz >= step * OFF_CPU_STEP_NS; step++) {
			if (!off_cpu_due(since, period, mean))
				continue;
			period = odd_period_draw(mean, random_next(&random));
			counted = since = 0;
		}
		if (++counted < period)
			continue;
		counted = 0;
		since++;
		taken++;
	}
	return taken;
}

static void slow_and_fast_give_their_part(void **state)
{
	static const uint64_t means[] = { 4, 16, 64, 1000 };

	(void)state;
	for (size_t m = 0; m < 4; m++)
		for (uint64_t hz = 10; hz <= 1000000; hz *= 10) {
			const uint64_t n = means[m] * 2000;
			/* Slow ones change after so many samples, fast ones ten times per second. */
			const double part = (double)stacks(n, hz, means[m]) / 2000;

			/* OFF_CPU_SAMPLES says by how much. */
			assert_true(part > 0.9 && part < 1.1);
		}
}

static void follows_the_mean(void **state)
{
	(void)state;
	/* A burst may begin on an event that has taken nothing yet, and one may be waited for in vain. */
	assert_true(off_cpu_due(0, 1, 1000));
	assert_true(off_cpu_due(0, 1000, 1));
	assert_false(off_cpu_due(0, 61, 64));
	assert_false(off_cpu_due(OFF_CPU_SAMPLES - 1, 61, 64));
	assert_true(off_cpu_due(OFF_CPU_SAMPLES, 61, 64));
	assert_false(off_cpu_due(1000, 1, 1));
	/* No period that is drawn is changed at once. */
	for (uint64_t mean = 1; mean < 300; mean++)
		for (uint64_t random = 0; random < 300; random++)
			assert_false(off_cpu_due(0, odd_period_draw(mean, random * 7919), mean));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean_bounds_stacks),
		cmocka_unit_test(slow_and_fast_give_their_part),
		cmocka_unit_test(follows_the_mean),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
