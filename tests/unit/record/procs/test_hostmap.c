/* What a program gives its parser as perf map of a process: that, and no other file. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/clock.h"
#include "procs/hostmap.h"
#include "procs/proc.h"

static char top[] = "/tmp/hostmap-XXXXXX", map[64], other[600];
static pid_t pid;

/* Asks as a parser that somebody took over may do: the process ended at the end of time. */
static int serve(int *fd)
{
	char text[256];

	snprintf(text, sizeof(text), "%d 0 1 0 0 %" PRId64 " 0 0 0 7f 12ab", (int)pid, INT64_MAX);
	*fd = -1;
	return hostmap_serve(text, fd);
}

static void write_to(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("1000 10 jitted\n", f);
	fclose(f);
}

static void test_file(void **state)
{
	char text[16];
	int fd;

	(void)state;
	assert_int_equal(serve(&fd), -ENOENT);
	write_to(map);
	assert_int_equal(serve(&fd), 0);
	assert_int_equal(read(fd, text, 15), 15);
	assert_int_equal(write(fd, "", 1), -1);
	close(fd);
	unlink(map);
}

static void test_link(void **state)
{
	int fd;

	(void)state;
	write_to(other);
	assert_int_equal(symlink(other, map), 0);
	assert_int_equal(serve(&fd), -EPERM);
	unlink(map);
}

/*
 * The program after an exec writes to a map of the same name, and the file's time may be up to a
 * tick older than that. At its end a process may still write to its own.
 */
static void test_exec(void **state)
{
	const uint64_t now = clock_mono_ns();
	struct proc_facts f = { .over_time = now };
	const int64_t over = clock_wall_ns(now), late = clock_file_late_ns();
	const struct { int64_t age; bool exec, refused; } cases[] = {
		{ late / 2, true, true }, { late / 2, false, false }, { 20 * late, true, false }, { -20 * late, false, true },
	};

	(void)state;
	assert_in_range(late, 1, 20000000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t at = over - cases[i].age;
		const struct stat st = { .st_mtim = { at / 1000000000, at % 1000000000 } };

		f.over_exec = cases[i].exec;
		assert_int_equal(perfmap_refuse(&f, &st) != NULL, cases[i].refused);
	}
}

/* The same of import, whose clock may be off by a second, for a file that is a second older than the end. */
static void test_exec_imported(void **state)
{
	char text[256];
	struct stat st;
	int fd;

	(void)state;
	write_to(map);
	assert_int_equal(stat(map, &st), 0);
	for (int exec = 0; exec < 2; exec++) {
		snprintf(text, sizeof(text), "%d 0 1 %d 0 %" PRId64 " 0 0 1000000000", (int)pid, exec,
			 (int64_t)(st.st_mtim.tv_sec + 1) * 1000000000 + st.st_mtim.tv_nsec);
		assert_int_equal(hostmap_serve(text, &fd), exec ? -EPERM : 0);
		if (!exec)
			close(fd);
	}
	unlink(map);
}

static void test_texts(void **state)
{
	static const char *const bad[] = { "", "1", "1 0 1 0 0 0 0 0", "1 0 1 0 0 0 0 0 -1", "1 0 1 0 0 0 0 0 9000000000000000000", "../x 0 1 0 0 0 0 0 0",
		"1 0 1 0 0 0 0 0 0 x", "1 0 1 0 0 0 0 0 0 7f ", "1 0 1 0 0 0 0 0 0 7f,12" };
	int fd = -1;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hostmap_serve(bad[i], &fd), -EINVAL);
}

static int setup(void **state)
{
	(void)state;
	/* A number that no other process has now. */
	pid = fork();
	if (!pid)
		_exit(0);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)pid);
	unlink(map);	/* of an earlier process with this number */
	waitpid(pid, NULL, 0);
	if (!mkdtemp(top))
		return -1;
	snprintf(other, sizeof(other), "%s/other", top);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(map);
	unlink(other);
	return rmdir(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_file), cmocka_unit_test(test_link),
					    cmocka_unit_test(test_exec), cmocka_unit_test(test_exec_imported),
					    cmocka_unit_test(test_texts) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
