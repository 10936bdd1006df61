/* What info adds up of a recording's events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/intern.h"
#include "info/info_stats.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

#define CGROUPS 100

/* Each cgroup with a limit has its facts, however many there are. */
static void test_limits(void **state)
{
	char path[] = "/tmp/nsprof-info-XXXXXX", name[32];
	struct info_stats st;
	struct rec_reader *r;
	struct rec_writer *w;
	int fd, err;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	for (int i = 0; i < CGROUPS; i++) {
		const struct ev_container ev = { .time = 1, .cgroup = name, .runtime = "", .id = "", .name = "", .image = "", .pod = "",
						 .pod_ns = "", .pod_uid = "", .quota_us = 1000 + (uint64_t)i, .period_us = 100000 };

		snprintf(name, sizeof(name), "/limited-%d", i);
		rec_writer_container(w, &ev);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	close(fd);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(info_stats_collect(r, &st), 0);
	assert_int_equal(st.ncontainers, CGROUPS);
	for (size_t i = 0; i < st.ncontainers; i++) {
		const struct info_container *c = &st.container[i];

		assert_non_null(c->ctr);
		assert_string_equal(c->ctr->cgroup, intern_str(st.strings, c->cgroup));
		snprintf(name, sizeof(name), "/limited-%d", (int)c->ctr->quota_us - 1000);
		assert_string_equal(c->ctr->cgroup, name);
	}
	info_stats_fini(&st);
	rec_reader_close(r);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
