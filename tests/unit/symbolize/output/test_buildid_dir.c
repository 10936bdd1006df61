/* Which files a parser may write into a build-id cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "output/buildid_dir.h"

#define ID "0123456789abcdef0123456789abcdef01234567"

static char top[] = "/tmp/buildids-XXXXXX";

static bool allows(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return buildid_dir_allows(top, path);
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"", "elf", ".build-id/elf", ".build-id/ab/elf", ".build-id/ab/" ID "/elf2", ".build-id/ab/" ID "/kallsyms",
		".build-id/ab/../elf", ".build-id/../ab/" ID "/elf", ".build-id/ab//elf", ".build-id/AB/" ID "/elf",
		".build-id/ab/" ID ID "/elf", "[kernel.kallsyms]/kallsyms", "[kernel.kallsyms]/" ID "/elf", "x/[kernel.kallsyms]/ab/kallsyms",
	};
	char path[512];
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(allows(bad[i]));
	assert_false(buildid_dir_allows(top, "/tmp/.build-id/ab/cd/elf"));
	assert_true(allows(".build-id/ab/" ID "/elf"));
	assert_true(allows("[kernel.kallsyms]/" ID "/kallsyms"));
	/* The folders are there, and the file is not. */
	snprintf(path, sizeof(path), "%s/.build-id/ab/" ID, top);
	assert_true(!stat(path, &st) && S_ISDIR(st.st_mode) && !rmdir(path));
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[600];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
