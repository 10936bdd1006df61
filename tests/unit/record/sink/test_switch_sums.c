/* Sums of threads' times while they are recorded, against those that readers make of each thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "random.h"
#include "recording/cpu_times.h"
#include "sink/switch_sums.h"

#define START 1000
#define THREADS 12

/*
 * Forks, exits and switches in any order, as if many were lost, and recording switched off and on. Times
 * may be equal.
 */
static void test_noise(void **state)
{
	static const struct cpu_times_ops none;
	uint64_t rnd = 28;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct cpu_times *t = cpu_times_new(START, &none, NULL);
		struct switch_sums s = { .start = START };
		uint64_t at = START, on = 0, unknown = 0, wall = 0;
		bool off = false;
		size_t n;

		for (int i = 0; i < 400; i++) {
			const uint32_t tid = 10 + (uint32_t)(random_next(&rnd) % THREADS), what = (uint32_t)(random_next(&rnd) % 16);
			const struct ev_task task = { .time = at += random_next(&rnd) % 1000000, .pid = 7, .tid = tid, .ppid = 7, .ptid = 7 };
			const struct ev_switch sw = { .time = at, .pid = 7, .tid = tid, .out = what & 1, .preempted = what == 3 };

			/* Not in all rounds. */
			if (round % 3 && !(random_next(&rnd) % 30)) {
				cpu_times_toggle(t, &(struct ev_toggle){ .time = at, .on = off });
				switch_sums_toggle(&s, off, at);
				off = !off;
			} else if (what == 14) {
				cpu_times_fork(t, &task);
				switch_sums_begin(&s, 7, tid, at);
			} else if (what == 15) {
				cpu_times_exit(t, &task);
				switch_sums_exit(&s, &task);
			} else {
				cpu_times_switch(t, &sw);
				switch_sums_switch(&s, &sw);
			}
		}
		/* Both end at the newest time. */
		cpu_times_until(t, at);
		cpu_times_end(t);
		s.last = at;
		switch_sums_end(&s);
		const struct cpu_thread *th = cpu_times_threads(t, &n);

		for (size_t i = 0; i < n; i++) {
			wall += cpu_thread_wall(&th[i]);
			on += th[i].ns[CPU_ON];
			unknown += th[i].ns[CPU_GAP];
		}
		assert_int_equal(s.nthreads, n);
		assert_int_equal(s.on_ns, on);
		assert_int_equal(s.unknown_ns, unknown);
		assert_int_equal(s.on_ns + s.off_ns + s.unknown_ns, wall);
		switch_sums_fini(&s);
		cpu_times_free(t);
	}
}

static void test_states(void **state)
{
	struct switch_sums s = { .start = 100 };
	const struct ev_switch out = { .time = 200, .pid = 7, .tid = 8, .out = true }, in = { .time = 300, .pid = 7, .tid = 8 };

	(void)state;
	switch_sums_found(&s, 7, 8, 50);
	assert_true(switch_sums_idle(&s, 7, 8, 50));
	assert_false(switch_sums_idle(&s, 7, 8, 51));
	assert_false(switch_sums_idle(&s, 7, 9, 50));
	assert_false(switch_sums_off(&s, 7, 8));
	switch_sums_switch(&s, &out);
	assert_true(switch_sums_off(&s, 7, 8));
	assert_int_equal(switch_sums_since(&s, 7, 8), 200);
	assert_false(switch_sums_idle(&s, 7, 8, 50));
	switch_sums_switch(&s, &in);
	assert_false(switch_sums_off(&s, 7, 8));
	switch_sums_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_noise), cmocka_unit_test(test_states) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
