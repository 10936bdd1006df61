/* Which threads the recording has to say the end of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sink/switch_threads.h"

static void test_exit(void **state)
{
	const struct ev_task ev = { .time = 5, .pid = 7, .tid = 8, .ppid = 7, .ptid = 7 };
	struct switch_threads t = { .on = true, .all = true };

	(void)state;
	/* It has run since before the recording, and nothing was seen of it. */
	assert_true(switch_threads_exit(&t, &ev));
	/* Side-band is of the whole host: it may be any thread. */
	t.all = false;
	assert_false(switch_threads_exit(&t, &ev));
	switch_threads_found(&t, 7, 8);
	assert_true(switch_threads_exit(&t, &ev));
	assert_false(switch_threads_exit(&t, &ev));
	switch_threads_fini(&t);
	t = (struct switch_threads){ .all = true };
	assert_false(switch_threads_exit(&t, &ev));
	switch_threads_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_exit) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
