/* Who is a tenant, what each may hold when others take all they can get, and rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "procfs/tenants.h"

#define SEC 1000000000ull
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The rule of contrib/doc/budgets.md, row by row. */
static void test_who(void **state)
{
	static const struct {
		const char *path, *tenant;
		bool by_user, fixed;
	} rows[] = {
		{ "/docker/" ID, "/docker/" ID, false, true },
		{ "/docker/" ID "/deep/er", "/docker/" ID, false, true },
		/* A container inside of one, or what claims to be one. */
		{ "/docker/" ID "/docker-" OTHER ".scope", "/docker/" ID, false, true },
		{ "/system.slice/docker-" ID ".scope/a", "/system.slice/docker-" ID ".scope", false, true },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope",
		  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope",
		  false, true },
		{ "/user.slice/user-1000.slice/session-3.scope", "/user.slice/user-1000.slice", true, false },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope", "/user.slice/user-1000.slice", true, false },
		{ "/system.slice/cron.service", "/system.slice/cron.service", true, false },
		{ "/system.slice/cron.service/job/1", "/system.slice/cron.service", true, false },
		{ "/system.slice", "/system.slice", true, false },
		{ "/a/b/c/d/e", "/a/b/c", true, false },
		{ "/", "/", true, false },
		{ "", "", true, false },
	};
	struct tenants ts;

	(void)state;
	tenants_init(&ts);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct tenant *t = tenants_of(&ts, rows[i].path, 7);

		assert_string_equal(t->cgroup, rows[i].tenant);
		assert_int_equal(t->by_user, rows[i].by_user);
		assert_int_equal(t->fixed, rows[i].fixed);
		/* The same again, and by another user another one, except in a container. */
		assert_ptr_equal(tenants_of(&ts, rows[i].path, 7), t);
		assert_int_equal(tenants_of(&ts, rows[i].path, 8) == t, rows[i].fixed);
	}
	tenants_fini(&ts);
}

/* A folder of cgroups that was given away must not be a source of budgets. */
static void test_many_below(void **state)
{
	struct tenants ts;
	struct tenant *last = NULL;
	size_t n = 0;

	(void)state;
	tenants_init(&ts);
	for (unsigned int i = 0; i < 10000; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/mine/%u", i);
		last = tenants_of(&ts, path, i);
	}
	n = ts.n;
	assert_in_range(n, 64, 70);
	assert_string_equal(last->cgroup, "/mine");
	assert_false(last->by_user);
	/* Others are not in that account. */
	assert_string_equal(tenants_of(&ts, "/theirs/1", 0)->cgroup, "/theirs/1");
	tenants_fini(&ts);
}

static uint64_t take_all(struct tenants *ts, struct tenant *t, enum tenant_hold what)
{
	uint64_t n = 0;

	while (n < 100000000 && tenants_take(ts, t, what, 1))
		n++;
	return n;
}

static void test_shares(void **state)
{
	struct tenants ts;
	struct tenant *evil, *worse, *good;
	uint64_t alone, rest;

	(void)state;
	tenants_init(&ts);
	evil = tenants_of(&ts, "/docker/" ID, 0);
	worse = tenants_of(&ts, "/docker/" OTHER, 0);
	good = tenants_of(&ts, "/good", 0);
	alone = take_all(&ts, evil, HOLD_FILES);
	/* Its own part and the pool. */
	assert_int_equal(alone, 2048 + 12288);
	/* The second one gets its own part, and an equal share of the pool though it is empty. */
	assert_int_equal(take_all(&ts, worse, HOLD_FILES), 2048 + 12288 / 2);
	assert_false(tenants_take(&ts, evil, HOLD_FILES, 1));
	/* A third one as well: together less than twice the pool. */
	rest = take_all(&ts, good, HOLD_FILES);
	assert_int_equal(rest, 2048 + 12288 / 3);
	/* Another kind is another account. */
	assert_true(tenants_take(&ts, evil, HOLD_MAPS, 1));
	/* What is given back can be had again, by anyone. */
	tenants_give(&ts, evil, HOLD_FILES, alone);
	assert_int_equal(take_all(&ts, good, HOLD_FILES), 12288 / 2 - 12288 / 3);
	assert_int_equal(take_all(&ts, evil, HOLD_FILES), 2048 + 12288 / 3);
	tenants_clear(&ts, HOLD_FILES);
	assert_int_equal(ts.pool[HOLD_FILES], 0);
	assert_int_equal(ts.heavy[HOLD_FILES], 0);
	tenants_fini(&ts);
}

static void test_rates(void **state)
{
	struct tenants ts;
	struct tenant *t;
	uint64_t wrote = 0;

	(void)state;
	tenants_init(&ts);
	t = tenants_of(&ts, "/docker/" ID, 0);
	for (uint64_t ms = 0; ms < 60000; ms++)
		for (unsigned int i = 0; i < 100 && tenant_may_write(t, SEC + ms * 1000000); i++) {
			tenant_wrote(t, 100);
			wrote += 100;
		}
	/* 2 MiB at once, then 32 KiB in each of 60 s. */
	assert_in_range(wrote, (2 << 20) + 59 * (32 << 10), (2 << 20) + 60 * (32 << 10) + 1000);
	assert_false(tenant_may_write(t, 61 * SEC - 1000000));
	tenant_sampled(t);
	assert_true(tenant_may_write(t, 61 * SEC - 1000000));
	/* Time is a budget of its own. */
	assert_true(tenant_has_time(t, 61 * SEC));
	tenant_spent(t, 5 * SEC);
	assert_false(tenant_has_time(t, 62 * SEC));
	assert_true(tenant_has_time(t, 300 * SEC));
	/* Time for captures, too: 5 s and 5 % of what passes. */
	assert_true(tenant_may_capture(t, 300 * SEC));
	tenant_captured(t, 4 * SEC);
	assert_true(tenant_may_capture(t, 300 * SEC));
	tenant_captured(t, 21 * SEC);
	assert_false(tenant_may_capture(t, 310 * SEC));
	assert_true(tenant_may_capture(t, 1000 * SEC));
	assert_true(tenant_may_capture(NULL, 0));
	/* Without a tenant there is no limit. */
	assert_true(tenant_may_write(NULL, 0));
	tenant_wrote(NULL, UINT32_MAX);
	assert_true(tenant_has_time(NULL, 0));
	tenants_fini(&ts);
}

static void test_counts(void **state)
{
	struct tenants ts;
	struct tenant *t;
	struct ev_budget ev;

	(void)state;
	tenants_init(&ts);
	t = tenants_of(&ts, "/x", 3);
	assert_false(tenants_left_out(t, BUDGET_MAPS, false, &ev));
	tenant_left_out(t, BUDGET_MAPS, 5);
	tenants_cut(&ts);
	tenant_left_out(t, BUDGET_MAPS, 2);
	assert_true(tenants_left_out(t, BUDGET_MAPS, false, &ev));
	assert_int_equal(ev.count, 2);
	assert_true(tenants_left_out(t, BUDGET_MAPS, true, &ev));
	assert_int_equal(ev.count, 7);
	assert_string_equal(ev.cgroup, "/x");
	assert_true(ev.by_user);
	assert_int_equal(ev.uid, 3);
	tenants_fini(&ts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who),
		cmocka_unit_test(test_many_below),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_counts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
