/* The program that a process runs, told from the next one by its mappings. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process_runs.h"

static char exe[4096];
static struct process_runs ours;

static uint64_t start_ticks(const char *file)
{
	unsigned long long ticks;
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %*[^)]) %*c %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %llu", &ticks), 1);
	fclose(f);
	return ticks;
}

/* This very process, by what the C library and the file show. */
static int setup(void **state)
{
	struct stat st;
	uint64_t start, ino;
	char line[5000], path[4096];
	FILE *f = fopen("/proc/self/maps", "r");

	(void)state;
	ours = (struct process_runs){ .pid = (uint32_t)getpid(), .start_ticks = start_ticks("/proc/self/stat"),
				      .vdso = getauxval(AT_SYSINFO_EHDR), .exe = exe };
	if (!f || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0 || stat(exe, &st))
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%*x r-xp %*x %*s %" SCNu64 " %4095[^\n]", &start, &ino, path) == 3 && !strcmp(path, exe)) {
			ours.exe_start = start;
			ours.exe_ino = ino;
		}
	}
	fclose(f);
	return ours.exe_start ? 0 : -1;
}

static int asked(struct process_runs r)
{
	return process_runs(&r);
}

static void test_same(void **state)
{
	struct process_runs r = ours;

	(void)state;
	assert_int_equal(asked(r), 0);
	r.exe = "/renamed";
	assert_int_equal(asked(r), 0);
	r.exe_start = 0;
	assert_int_equal(asked(r), 0);
	r = ours;
	r.vdso = 0;
	assert_int_equal(asked(r), 0);
	/* Code may be moved to other memory, unless nothing else proves the program. */
	r = ours;
	r.exe_start += 4096;
	assert_int_equal(asked(r), 0);
}

static void test_other(void **state)
{
	struct process_runs r = ours;

	(void)state;
	r.vdso += 4096;
	assert_int_equal(asked(r), -ESTALE);
	r = ours;
	r.exe = "/another";
	r.exe_ino++;
	assert_int_equal(asked(r), -ESTALE);
	r = ours;
	r.vdso = 0;
	r.exe_start += 4096;
	assert_int_equal(asked(r), -ESTALE);
	r = ours;
	r.start_ticks++;
	assert_int_equal(asked(r), -ESRCH);
	r = ours;
	r.vdso = r.exe_start = 0;
	assert_int_equal(asked(r), -ENODATA);
}

/* The same pid and start time, before and after an exec, and when it has ended. */
static void test_exec(void **state)
{
	struct process_runs r = ours;
	char path[64], is[256] = "", byte;
	int go[2], up[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(up), 0);
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (write(up[1], "", 1) == 1 && read(go[0], &byte, 1) == 0)
			execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	close(go[0]);
	assert_int_equal(read(up[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r.pid = (uint32_t)pid;
	r.start_ticks = start_ticks(path);
	assert_int_equal(asked(r), 0);
	close(go[1]);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	while (!strstr(is, "/sleep")) {
		memset(is, 0, sizeof(is));
		assert_true(readlink(path, is, sizeof(is) - 1) > 0);
		usleep(1000);
	}
	assert_int_equal(asked(r), -ESTALE);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	assert_int_equal(asked(r), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(asked(r), -ESRCH);
	close(up[0]);
	close(up[1]);
}

/* What a parser asks, and what it cannot. */
static void test_serve(void **state)
{
	static const char *const bad[] = { "", "1", "1 2 3 4 5", "1 2 3 4 x /a", "x 2 3 4 5 /a", "1 2 3 4 5x /a" };
	char text[5000];

	(void)state;
	snprintf(text, sizeof(text), "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", ours.pid, ours.start_ticks,
		 ours.vdso, ours.exe_start, ours.exe_ino, ours.exe);
	assert_int_equal(process_runs_serve(PROCESS_RUNS_ASK, text), 0);
	assert_int_equal(process_runs_serve(PROCESS_RUNS_ASK + 1, text), -ENOSYS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(process_runs_serve(PROCESS_RUNS_ASK, bad[i]), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same), cmocka_unit_test(test_other), cmocka_unit_test(test_exec),
					    cmocka_unit_test(test_serve) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
