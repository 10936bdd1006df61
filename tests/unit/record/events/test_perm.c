/* What capabilities and sysctls permit, by the rules in the kernel's sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "events/perm.h"

#define PERFMON PERM_CAP_PERFMON
#define ADMIN PERM_CAP_SYS_ADMIN
#define SYSLOG PERM_CAP_SYSLOG

/*
 * Debian's patch: "if (perf_paranoid_any() && !capable(CAP_SYS_ADMIN)) return -EACCES;", where
 * "any" is 3 and more.
 */
static void test_admin_only(void **state)
{
	(void)state;
	for (long paranoid = -1; paranoid <= 4; paranoid++) {
		const int debian = paranoid >= 3 ? -EACCES : 0;

		assert_int_equal(perm_admin_only(0, paranoid, debian), paranoid >= 3);
		assert_int_equal(perm_admin_only(PERFMON, paranoid, debian), paranoid >= 3);
		assert_false(perm_admin_only(ADMIN, paranoid, 0));
		assert_false(perm_admin_only(ADMIN | PERFMON, paranoid, 0));
		/* Mainline lets every user measure the user space of their own processes. */
		assert_false(perm_admin_only(0, paranoid, 0));
		assert_false(perm_admin_only(PERFMON, paranoid, 0));
	}
	/* Ubuntu forbids it from 4 on. */
	assert_false(perm_admin_only(PERFMON, 3, 0));
	assert_true(perm_admin_only(PERFMON, 4, -EACCES));
	/* A security module or a seccomp filter is a different cause. */
	assert_false(perm_admin_only(PERFMON, 2, -EACCES));
	assert_false(perm_admin_only(PERFMON, 3, -EPERM));
	assert_false(perm_admin_only(0, PERM_SYSCTL_UNKNOWN, -EACCES));
}

/*
 * kallsyms_show_value(): kptr_restrict 0 shows addresses if perf_event_paranoid is at most 1;
 * otherwise, and with kptr_restrict 1, only to CAP_SYSLOG; other values hide them. Following the
 * remedy therefore makes them visible.
 */
static bool shown(bool syslog, long kptr, long paranoid)
{
	return (kptr == 0 && paranoid <= 1) || (kptr <= 1 && syslog);
}

static long value_in(const char *remedy, const char *sysctl, long otherwise)
{
	const char *p = strstr(remedy, sysctl);
	long v = otherwise;

	if (p)
		sscanf(p + strlen(sysctl), "=%ld", &v);
	return v;
}

static void test_kallsyms(void **state)
{
	(void)state;
	for (int syslog = 0; syslog < 2; syslog++)
		for (long kptr = 0; kptr <= 2; kptr++)
			for (long paranoid = -1; paranoid <= 4; paranoid++) {
				struct strbuf text = STRBUF_INIT, remedy = STRBUF_INIT;
				long k, p;

				if (shown(syslog, kptr, paranoid))
					continue;
				perm_explain_kallsyms(syslog ? SYSLOG : 0, kptr, paranoid, &text, &remedy);
				/*
				 * The message names the setting that decides, and not the other
				 * one.
				 */
				assert_int_equal(strstr(text.s, "kptr_restrict") != NULL, kptr > 0);
				assert_int_equal(strstr(text.s, "perf_event_paranoid") != NULL, kptr == 0);
				assert_int_equal(strstr(text.s, "CAP_SYSLOG is missing") != NULL, kptr < 2);
				k = value_in(remedy.s, "kernel.kptr_restrict", kptr);
				p = value_in(remedy.s, "kernel.perf_event_paranoid", paranoid);
				if (kptr == 2) {
					assert_int_equal(strstr(remedy.s, "CAP_SYSLOG") != NULL, !syslog);
					assert_true(shown(true, k, p));
				} else {
					assert_non_null(strstr(remedy.s, "CAP_SYSLOG"));
					assert_true(shown(true, kptr, paranoid));
					assert_true(shown(false, k, p));
				}
				strbuf_fini(&text);
				strbuf_fini(&remedy);
			}
}

static void test_kallsyms_odd(void **state)
{
	struct strbuf text = STRBUF_INIT, remedy = STRBUF_INIT;

	(void)state;
	perm_explain_kallsyms(SYSLOG, 1, 2, &text, &remedy);
	assert_non_null(strstr(text.s, "something else"));
	assert_int_equal(remedy.len, 0);
	strbuf_reset(&text);
	perm_explain_kallsyms(0, 0, 1, &text, &remedy);
	assert_non_null(strstr(text.s, "something else"));
	strbuf_reset(&text);
	perm_explain_kallsyms(0, PERM_SYSCTL_UNKNOWN, PERM_SYSCTL_UNKNOWN, &text, &remedy);
	assert_non_null(strstr(text.s, "kernel.kptr_restrict cannot be read"));
	strbuf_reset(&text);
	strbuf_reset(&remedy);
	/*
	 * kptr_restrict is 0 already and perf_event_paranoid cannot be read, so the remedy is the
	 * capability, not a sysctl.
	 */
	perm_explain_kallsyms(0, 0, PERM_SYSCTL_UNKNOWN, &text, &remedy);
	assert_non_null(strstr(remedy.s, "CAP_SYSLOG"));
	strbuf_fini(&text);
	strbuf_fini(&remedy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admin_only),
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_kallsyms_odd),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
