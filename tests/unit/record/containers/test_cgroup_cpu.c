/*
 * CPU time, limits and throttling of a cgroup: the files of both versions, and where they are in
 * mixed layouts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "containers/cgroup_cpu.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Documentation/admin-guide/cgroup-v2.rst, "cpu.stat", with and without the controller. */
static void stat_v2(void **state)
{
	struct cpu_reading r = { 0 };

	(void)state;
	cpu_reading_stat(&r, "usage_usec 476093\nuser_usec 476000\nsystem_usec 93\nnice_usec 0\n"
			     "core_sched.force_idle_usec 0\n");
	assert_true(r.have_usage);
	assert_int_equal(r.usage_us, 476093);
	assert_false(r.have_throttling);
	cpu_reading_stat(&r, "usage_usec 500000\nuser_usec 500000\nsystem_usec 0\nnr_periods 507\nnr_throttled 74\n"
			     "throttled_usec 3800001\nnr_bursts 3\nburst_usec 9\n");
	assert_int_equal(r.usage_us, 500000);
	assert_true(r.have_throttling);
	assert_int_equal(r.nr_periods, 507);
	assert_int_equal(r.nr_throttled, 74);
	assert_int_equal(r.throttled_us, 3800001);
}

/* Documentation/scheduler/sched-bwc.rst, "Statistics"; v1 counts time in ns. */
static void stat_v1(void **state)
{
	struct cpu_reading r = { 0 };

	(void)state;
	cpu_reading_stat(&r, "nr_periods 24\nnr_throttled 23\nthrottled_time 1208415018\nnr_bursts 0\nburst_time 7");
	assert_false(r.have_usage);
	assert_true(r.have_throttling);
	assert_int_equal(r.nr_periods, 24);
	assert_int_equal(r.nr_throttled, 23);
	assert_int_equal(r.throttled_us, 1208415);
}

static void stat_odd(void **state)
{
	struct cpu_reading r = { 0 };

	(void)state;
	cpu_reading_stat(&r, "");
	cpu_reading_stat(&r, "usage_usecs 5\nxusage_usec 5\nnr_period 3\n\n\nnr_throttled");
	assert_false(r.have_usage);
	assert_false(r.have_throttling);
}

static void limits(void **state)
{
	struct cpu_reading r = { 0 };

	(void)state;
	cpu_reading_max(&r, "50000 100000\n");
	assert_int_equal(r.quota_us, 50000);
	assert_int_equal(r.period_us, 100000);
	cpu_reading_max(&r, "max 100000\n");
	assert_int_equal(r.quota_us, 0);
	cpu_reading_cfs(&r, "20000\n", "10000\n");
	assert_int_equal(r.quota_us, 20000);
	assert_int_equal(r.period_us, 10000);
	cpu_reading_cfs(&r, "-1\n", "100000\n");
	assert_int_equal(r.quota_us, 0);
	/* A quota without a period is no limit. */
	cpu_reading_cfs(&r, "20000\n", "");
	assert_int_equal(r.quota_us, 0);
}

static void expect_path(const char *text, const char *controller, const char *own, const char *want)
{
	char *path = cgroup_cpu_path(text, controller, own);

	if (want)
		assert_string_equal(path, want);
	else
		assert_null(path);
	free(path);
}

static void paths(void **state)
{
	(void)state;
	/* v1 throughout, docker; cpu and cpuacct in one hierarchy. */
	expect_path("4:perf_event:/docker/" ID "\n3:cpu,cpuacct:/docker/" ID "\n", "cpu", "/docker/" ID,
		    "/docker/" ID);
	/* Hybrid: perf_event is on v2, where the process is in a cgroup of its container. */
	expect_path("3:cpuacct:/docker/" ID "\n2:cpu:/docker/" ID "/sub/b\n0::/docker/" ID "/sub/b\n", "cpu",
		    "/docker/" ID, "/docker/" ID);
	/* The container created cgroups in one hierarchy only. */
	expect_path("2:cpu:/docker/" ID "/only\n0::/docker/" ID "\n", "cpu", "/docker/" ID, "/docker/" ID);
	expect_path("2:cpu:/docker/" ID "\n0::/docker/" ID "/sub\n", "cpu", "/docker/" ID, "/docker/" ID);
	/* No containers. */
	expect_path("2:cpu:/batch\n0::/user.slice/session-2.scope\n", "cpu", "/user.slice/session-2.scope", "/batch");
	expect_path("2:cpu:/a/b\n0::/a/b\n", "cpu", "/a", "/a");
	expect_path("2:cpu:/xa/b\n0::/a\n", "cpu", "/a", "/xa/b");
	/* The root's counters are those of the whole machine. */
	expect_path("2:cpu:/\n0::/a\n", "cpu", "/a", NULL);
	expect_path("2:cpu:/b\n0::/a/b\n", "cpu", "/a", NULL);
	/* The process has moved to another cgroup. */
	expect_path("2:cpu:/b\n0::/b\n", "cpu", "/a", NULL);
	expect_path("2:cpu:/ab\n0::/ab\n", "cpu", "/a", NULL);
	expect_path("", "cpu", "/a", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_v2),
		cmocka_unit_test(stat_v1),
		cmocka_unit_test(stat_odd),
		cmocka_unit_test(limits),
		cmocka_unit_test(paths),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
