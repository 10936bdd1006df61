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
#include "toolrun.h"

#define ID "0123456789abcdef0123456789abcdef01234567"

static bool allows(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", tool_dir, name);
	return buildid_dir_allows(tool_dir, path);
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
	assert_false(buildid_dir_allows(tool_dir, "/tmp/.build-id/ab/cd/elf"));
	assert_true(allows(".build-id/ab/" ID "/elf"));
	assert_true(allows("[kernel.kallsyms]/" ID "/kallsyms"));
	/* The folders are there, and the file is not. */
	snprintf(path, sizeof(path), "%s/.build-id/ab/" ID, tool_dir);
	assert_true(!stat(path, &st) && S_ISDIR(st.st_mode) && !rmdir(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
