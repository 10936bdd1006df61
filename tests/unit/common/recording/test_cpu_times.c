/* Times on and off the CPU, against a plain account of what the threads did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "recording/cpu_times.h"

#define START 1000

static void note_spell(void *ctx, const struct cpu_spell *s)
{
	uint64_t *sum = ctx;

	assert_true(s->to >= s->from);
	*sum += s->to - s->from;
}

static const struct cpu_times_ops ops = { .spell = note_spell };

static void out(struct cpu_times *t, uint64_t time, uint32_t tid, bool preempted)
{
	cpu_times_switch(t, &(struct ev_switch){ .time = time, .pid = 7, .tid = tid, .out = true, .preempted = preempted });
}

static void in(struct cpu_times *t, uint64_t time, uint32_t tid)
{
	cpu_times_switch(t, &(struct ev_switch){ .time = time, .pid = 7, .tid = tid });
}

static void task(void (*fn)(struct cpu_times *, const struct ev_task *), struct cpu_times *t, uint64_t time, uint32_t tid)
{
	fn(t, &(struct ev_task){ .time = time, .pid = 7, .tid = tid, .ppid = 7, .ptid = 7 });
}

/* On + off + unknown is the life of each thread, whatever came. */
static void check_identity(const struct cpu_times *t, uint64_t spelled)
{
	size_t n;
	const struct cpu_thread *th = cpu_times_threads(t, &n);
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (int s = 0; s < CPU_STATES; s++)
			sum += th[i].ns[s];
		assert_int_equal(sum, cpu_thread_wall(&th[i]));
		all += sum;
	}
	assert_int_equal(all, spelled);
}

static void test_states(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	out(t, 1100, 7, false);		/* on since the start */
	in(t, 1300, 8);			/* off since the start */
	in(t, 1400, 7);
	task(cpu_times_fork, t, 1500, 9);
	in(t, 1510, 9);
	out(t, 1600, 7, true);
	out(t, 1610, 9, false);
	in(t, 1650, 7);
	cpu_times_wakeup(t, &(struct ev_wakeup){ .time = 1700, .pid = 7, .tid = 9 });
	in(t, 1730, 9);
	task(cpu_times_exit, t, 1740, 9);
	out(t, 1745, 9, false);		/* leaves for good: no new life */
	out(t, 1750, 8, false);
	cpu_times_until(t, 2000);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 3);
	assert_int_equal(th[0].ns[CPU_ON], 100 + 200 + 350);
	assert_int_equal(th[0].ns[CPU_BLOCKED], 300);
	assert_int_equal(th[0].ns[CPU_PREEMPTED], 50);
	assert_false(th[0].open);
	assert_int_equal(th[1].ns[CPU_BEFORE], 300);
	assert_int_equal(th[1].ns[CPU_ON], 450);
	assert_int_equal(th[1].ns[CPU_BLOCKED], 250);
	assert_true(th[1].open);
	assert_int_equal(th[2].begin, 1500);
	assert_int_equal(th[2].end, 1740);
	assert_int_equal(th[2].ns[CPU_STARTING], 10);
	assert_int_equal(th[2].ns[CPU_ON], 110);
	assert_int_equal(th[2].ns[CPU_BLOCKED], 120);
	assert_int_equal(th[2].queued_ns, 30);
	assert_true(th[2].forked && th[2].exited);
	assert_int_equal(cpu_times_doubts(t).gaps, 0);
	check_identity(t, spelled);
	cpu_times_free(t);
}

static void wake(struct cpu_times *t, uint64_t time, uint32_t tid)
{
	cpu_times_wakeup(t, &(struct ev_wakeup){ .time = time, .pid = 7, .tid = tid });
}

/* A thread that is about to sleep is woken: it stays, or it has to come back at once. */
static void test_early_wakeups(void **state)
{
	/* What is known if some wake-ups are lost: that the last wait was not ended by the early one. */
	for (int misses = 0; misses < 2; misses++) {
		uint64_t spelled = 0;
		struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
		const struct cpu_thread *th;
		size_t n;

		(void)state;
		if (misses)
			cpu_times_miss_wakeups(t);
		in(t, 2000, 7);
		wake(t, 2100, 7);
		out(t, 2110, 7, false);		/* it was on its way: 40 */
		in(t, 2150, 7);
		wake(t, 2200, 7);		/* it stays, */
		out(t, 2300, 7, false);
		wake(t, 2900, 7);		/* and another one ends its wait: 30 */
		in(t, 2930, 7);
		wake(t, 2940, 7);
		out(t, 2950, 7, true);		/* preempted, which is not this kind of wait */
		in(t, 2990, 7);
		wake(t, 3000, 7);		/* long ago when it leaves: its wake-up is not known */
		out(t, 5000000, 7, false);
		in(t, 5000100, 7);
		out(t, 5000200, 7, false);
		wake(t, 5000250, 7);		/* the first one counts: 60 */
		wake(t, 5000300, 7);
		in(t, 5000310, 7);
		wake(t, 5000400, 7);
		out(t, 5000410, 7, false);	/* it goes on, so that was not for this wait */
		cpu_times_until(t, 6000000);
		cpu_times_end(t);
		th = cpu_times_threads(t, &n);
		assert_int_equal(n, 1);
		assert_int_equal(th[0].queued_ns, misses ? 30 + 60 : 40 + 30 + 60);
		assert_int_equal(th[0].queued, misses ? 2 : 3);
		assert_int_equal(th[0].ns[CPU_BLOCKED], 40 + 630 + 100 + 110 + 999590);
		assert_int_equal(th[0].ns[CPU_PREEMPTED], 40);
		check_identity(t, spelled);
		cpu_times_free(t);
	}
}

/* Threads that were off since the recording began: once woken, it is known what they wait for. */
static void test_first_wakeups(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	wake(t, 1300, 7);
	in(t, 1350, 7);
	wake(t, 1400, 8);		/* it runs all the time */
	out(t, 1500, 8, false);
	in(t, 1600, 8);
	task(cpu_times_exit, t, 1650, 9);
	wake(t, 1660, 9);		/* gone: no new life */
	cpu_times_until(t, 2000);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 2);
	assert_int_equal(th[0].ns[CPU_BEFORE], 300);
	assert_int_equal(th[0].ns[CPU_BLOCKED], 50);
	assert_int_equal(th[0].queued_ns, 50);
	assert_int_equal(th[0].ns[CPU_ON], 650);
	assert_int_equal(th[1].ns[CPU_ON], 500 + 400);
	/* A wake-up 100 ns before it leaves, and none until it comes back. */
	assert_int_equal(th[1].queued_ns, 100);
	check_identity(t, spelled);
	cpu_times_free(t);
}

static void reading(struct cpu_times *t, uint64_t time, uint32_t tid, uint64_t run, uint64_t wait)
{
	cpu_times_schedstat(t, &(struct ev_schedstat){ .time = time, .pid = 7, .tid = tid, .run_ns = run, .wait_ns = wait });
}

/* The kernel's account: beginnings with all times 0, threads that never switch, early readings. */
static void test_readings(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	reading(t, 1400, 1, 500, 50);	/* written before what is older */
	reading(t, 1400, 2, 900, 90);
	reading(t, 1100, 3, 0, 0);
	reading(t, 1200, 4, 0, 0);
	in(t, 1130, 3);
	out(t, 1180, 3, false);
	out(t, 1200, 4, false);		/* it comes into the target while it runs */
	reading(t, 2000, 1, 1095, 55);
	reading(t, 2000, 2, 900, 90);
	reading(t, 2000, 3, 50, 30);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 4);
	/* In the order in which they were seen: 3, 4, 1, 2. */
	assert_int_equal(th[0].begin, 1100);
	assert_int_equal(th[0].ns[CPU_STARTING], 30);
	assert_int_equal(th[0].ns[CPU_ON], 50);
	assert_int_equal(th[0].ns[CPU_BLOCKED], 820);
	assert_int_equal(th[0].ns[CPU_BEFORE], 0);
	assert_true(th[0].have_sched);
	assert_int_equal(th[0].sched_wait_ns, 30);
	assert_int_equal(th[1].begin, 1200);
	assert_int_equal(th[1].ns[CPU_BLOCKED], 800);
	assert_int_equal(th[2].ns[CPU_ON], 1000);
	assert_int_equal(th[3].ns[CPU_BEFORE], 1000);
	assert_int_equal(cpu_times_doubts(t).gaps, 0);
	check_identity(t, spelled);
	cpu_times_free(t);
}

/* Switches may come after newer forks and exits. */
static void test_late_switches(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	task(cpu_times_fork, t, 1100, 9);
	task(cpu_times_exit, t, 1500, 9);
	task(cpu_times_fork, t, 1600, 9);	/* the number again */
	in(t, 1200, 9);
	out(t, 1300, 9, false);
	in(t, 1400, 9);
	out(t, 1501, 9, false);
	in(t, 1650, 9);
	task(cpu_times_exit, t, 1700, 9);
	out(t, 1702, 9, false);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 2);
	assert_int_equal(th[0].ns[CPU_ON], 200);
	assert_int_equal(th[0].ns[CPU_BLOCKED], 100);
	assert_int_equal(th[0].ns[CPU_STARTING], 100);
	assert_int_equal(th[1].begin, 1600);
	assert_int_equal(th[1].ns[CPU_ON], 50);
	assert_int_equal(th[1].ns[CPU_STARTING], 50);
	assert_int_equal(cpu_times_doubts(t).gaps, 0);
	check_identity(t, spelled);
	cpu_times_free(t);
}

static void test_losses(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	in(t, 1100, 7);
	in(t, 1200, 7);			/* it left in between */
	out(t, 1300, 7, false);
	out(t, 1450, 7, false);		/* it came back in between */
	task(cpu_times_exit, t, 1500, 7);	/* and here, too: an exit is run by the thread */
	out(t, 1501, 7, false);
	task(cpu_times_fork, t, 1600, 8);
	out(t, 1630, 8, true);		/* its first time on a CPU is missing */
	in(t, 1640, 8);
	task(cpu_times_fork, t, 1700, 8);	/* its exit is missing */
	in(t, 1710, 8);
	task(cpu_times_exit, t, 1720, 8);
	/* The fork is missing: another thread has the number, and nothing is known of the time before. */
	in(t, 2000000000, 8);
	cpu_times_until(t, 2000000100);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 4);
	assert_int_equal(th[0].ns[CPU_GAP], 100 + 150 + 50);
	assert_int_equal(th[0].ns[CPU_ON], 100);
	assert_int_equal(th[0].ns[CPU_BLOCKED], 0);
	assert_int_equal(th[1].ns[CPU_GAP], 30 + 60);
	assert_int_equal(th[1].ns[CPU_PREEMPTED], 10);
	assert_int_equal(th[2].ns[CPU_ON], 10);
	assert_int_equal(th[3].begin, 2000000000);
	assert_int_equal(th[3].ns[CPU_ON], 100);
	assert_int_equal(cpu_times_doubts(t).gaps, 5);
	assert_int_equal(cpu_times_doubts(t).gap_ns, 300 + 90);
	check_identity(t, spelled);
	cpu_times_free(t);
}

static void test_without_switches(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	/* What the kernel says of threads tells which of them ran. */
	cpu_times_schedstat(t, &(struct ev_schedstat){ .time = 1000, .pid = 7, .tid = 7, .run_ns = 50, .wait_ns = 10 });
	cpu_times_schedstat(t, &(struct ev_schedstat){ .time = 1000, .pid = 7, .tid = 8, .run_ns = 50, .wait_ns = 10 });
	/* Not of the target: nothing of them but their forks and exits is seen. */
	task(cpu_times_fork, t, 1500, 20);
	task(cpu_times_exit, t, 1600, 20);
	task(cpu_times_exit, t, 1600, 21);
	out(t, 1601, 21, false);
	/* Idle, and a thread that has no number any more. */
	cpu_times_switch(t, &(struct ev_switch){ .time = 1700 });
	cpu_times_switch(t, &(struct ev_switch){ .time = 1700, .pid = UINT32_MAX, .tid = UINT32_MAX, .out = true });
	cpu_times_schedstat(t, &(struct ev_schedstat){ .time = 3000, .pid = 7, .tid = 7, .run_ns = 2049, .wait_ns = 11 });
	cpu_times_schedstat(t, &(struct ev_schedstat){ .time = 3000, .pid = 7, .tid = 8, .run_ns = 50, .wait_ns = 10 });
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 2);
	assert_int_equal(th[0].ns[CPU_ON], 2000);
	assert_int_equal(th[0].sched_run_ns, 1999);
	assert_int_equal(th[0].sched_wait_ns, 1);
	assert_int_equal(th[1].ns[CPU_BEFORE], 2000);
	check_identity(t, spelled);
	cpu_times_free(t);
}

static void toggle(struct cpu_times *t, uint64_t time, bool on)
{
	cpu_times_toggle(t, &(struct ev_toggle){ .time = time, .on = on });
}

/* Before recording is switched on, and while it is off, no time passes. */
static void test_toggles(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_window *windows;
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	toggle(t, START, false);
	task(cpu_times_fork, t, 1100, 8);
	in(t, 1990, 8);			/* one CPU is on already */
	toggle(t, 2000, true);
	out(t, 2100, 8, false);		/* so it ran from the beginning */
	in(t, 2200, 9);
	in(t, 2300, 8);
	task(cpu_times_fork, t, 2400, 10);
	in(t, 2410, 10);
	out(t, 2950, 12, false);
	toggle(t, 3000, false);
	out(t, 3001, 8, false);		/* one CPU is still on */
	task(cpu_times_exit, t, 3500, 10);
	task(cpu_times_fork, t, 3600, 11);
	toggle(t, 5000, true);
	toggle(t, 5001, true);		/* a segment may repeat it */
	in(t, 5200, 8);
	out(t, 5300, 11, false);
	wake(t, 5400, 12);
	in(t, 5450, 12);
	cpu_times_until(t, 6000);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 5);
	/* 8: two windows, and nothing is known of its wait in the pause. */
	assert_false(th[0].forked);
	assert_int_equal(th[0].begin, 2000);
	assert_int_equal(th[0].end, 6000);
	assert_int_equal(cpu_thread_wall(&th[0]), 2000);
	assert_int_equal(th[0].ns[CPU_ON], 100 + 700 + 800);
	assert_int_equal(th[0].ns[CPU_BLOCKED], 200);
	assert_int_equal(th[0].ns[CPU_BEFORE], 200);
	/* 9: it is not seen any more after the pause. */
	assert_int_equal(th[1].end, 3000);
	assert_int_equal(th[1].ns[CPU_BEFORE], 200);
	assert_int_equal(th[1].ns[CPU_ON], 800);
	assert_false(th[1].open);
	/* 10: it ends in the pause. */
	assert_true(th[2].forked && th[2].exited);
	assert_int_equal(th[2].end, 3000);
	assert_int_equal(th[2].ns[CPU_STARTING], 10);
	assert_int_equal(th[2].ns[CPU_ON], 590);
	/* 12: it sleeps as recording is switched off, and is woken later. */
	assert_int_equal(th[3].ns[CPU_ON], 950 + 550);
	assert_int_equal(th[3].ns[CPU_BLOCKED], 50 + 50);
	assert_int_equal(th[3].ns[CPU_BEFORE], 400);
	assert_int_equal(th[3].queued_ns, 50);
	/* 11: it begins in the pause. */
	assert_false(th[4].forked);
	assert_int_equal(th[4].begin, 5000);
	assert_int_equal(th[4].ns[CPU_ON], 300);
	assert_int_equal(th[4].ns[CPU_BLOCKED], 700);
	assert_true(th[4].open);
	assert_int_equal(cpu_times_doubts(t).gaps, 0);
	windows = cpu_times_windows(t, &n);
	assert_int_equal(n, 3);
	assert_true(windows[0].from == START && windows[0].to == START);
	assert_true(windows[1].from == 2000 && windows[1].to == 3000);
	assert_true(windows[2].from == 5000 && windows[2].to == 6000);
	check_identity(t, spelled);
	cpu_times_free(t);
}

/* Threads that never switch: the account of each window tells whether they ran in it. */
static void test_toggled_readings(void **state)
{
	uint64_t spelled = 0;
	struct cpu_times *t = cpu_times_new(START, &ops, &spelled);
	const struct cpu_thread *th;
	size_t n;

	(void)state;
	toggle(t, 2000, false);
	reading(t, 2001, 4, 1, 1);		/* not known before */
	for (uint32_t tid = 1; tid <= 3; tid++)
		reading(t, 1010, tid, 500, 50);
	reading(t, 2010, 1, 1490, 55);	/* it ran, */
	reading(t, 2010, 2, 1490, 55);
	toggle(t, 5000, true);
	reading(t, 5010, 1, 4000, 100);	/* and does not any more */
	reading(t, 5010, 2, 4000, 100);
	reading(t, 5010, 3, 4000, 100);
	reading(t, 6000, 1, 4000, 103);
	reading(t, 6000, 3, 4000, 103);
	cpu_times_end(t);
	th = cpu_times_threads(t, &n);
	assert_int_equal(n, 3);
	assert_int_equal(th[0].ns[CPU_ON], 1000);
	assert_int_equal(th[0].ns[CPU_BEFORE], 1000);
	assert_true(th[0].have_sched);
	assert_int_equal(th[0].sched_run_ns, 990);
	assert_int_equal(th[0].sched_wait_ns, 5 + 3);
	/* Of these, one window has no account. */
	assert_int_equal(th[1].ns[CPU_ON], 1000);
	assert_false(th[1].have_sched);
	assert_int_equal(th[2].ns[CPU_BEFORE], 2000);
	assert_false(th[2].have_sched);
	check_identity(t, spelled);
	cpu_times_free(t);
}

/* Any events in any order: no time is counted twice or lost. */
static void test_noise(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t rnd = seed, time = START, spelled = 0;
		struct cpu_times *t = cpu_times_new(START, &ops, &spelled);

		for (int i = 0; i < 5000; i++) {
			const uint32_t tid = 7 + (uint32_t)(random_next(&rnd) % 20);
			const uint64_t at = time - random_next(&rnd) % 30;

			time += random_next(&rnd) % 100;
			if (!(random_next(&rnd) % 64)) {
				toggle(t, at, random_next(&rnd) & 1);
				continue;
			}
			switch (random_next(&rnd) % 16) {
			case 0:
				task(cpu_times_fork, t, at, tid);
				break;
			case 1:
				task(cpu_times_exit, t, at, tid);
				break;
			case 2:
				cpu_times_wakeup(t, &(struct ev_wakeup){ .time = at, .pid = 7, .tid = tid });
				break;
			case 3:
				cpu_times_schedstat(t, &(struct ev_schedstat){ .time = at, .pid = 7, .tid = tid, .run_ns = time });
				break;
			case 4: case 5: case 6: case 7: case 8:
				in(t, at, tid);
				break;
			default:
				out(t, at, tid, random_next(&rnd) & 1);
			}
		}
		cpu_times_end(t);
		check_identity(t, spelled);
		cpu_times_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states), cmocka_unit_test(test_early_wakeups), cmocka_unit_test(test_first_wakeups), cmocka_unit_test(test_readings),
		cmocka_unit_test(test_late_switches), cmocka_unit_test(test_losses),
		cmocka_unit_test(test_without_switches), cmocka_unit_test(test_toggles), cmocka_unit_test(test_toggled_readings),
		cmocka_unit_test(test_noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
