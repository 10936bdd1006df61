/*
 * When samples and CPU time disagree: by more than the tolerance and by more than chance. Also when
 * nothing ran.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/cgroup_coverage.h"

#define MS 1000000ull

/* @samples of 10 ms each on @ncpus CPUs. */
static bool covered(uint64_t used_ms, uint64_t samples, uint64_t ncpus)
{
	const struct cgroup_coverage_samples s = { .samples = samples, .period_ns = samples * 10 * MS, .ncpus = ncpus };

	return cgroup_coverage_covered(used_ms * 1000, &s);
}

static void test_covered(void **state)
{
	(void)state;
	assert_true(covered(10000, 1000, 2));
	assert_true(covered(11000, 1000, 2));
	assert_true(covered(9100, 1000, 2));
	/* More than 10 %, and chance does not move 1000 samples that far: 4 * 31.6. */
	assert_false(covered(12000, 1000, 2));
	assert_false(covered(20000, 1000, 2));
	assert_false(covered(8000, 1000, 2));
	/* No or nearly no usage, and many samples. */
	assert_false(covered(0, 1000, 2));
	/* 100 samples may be off by 40. */
	assert_true(covered(1400, 100, 1));
	assert_false(covered(1600, 100, 1));
	/* One sample proves nothing, nor do 50 on 64 CPUs. */
	assert_true(covered(50, 1, 1));
	assert_true(covered(1300, 50, 64));
	assert_false(covered(1300, 50, 1));
}

/* Writes "cpu.stat" of the hierarchy's only cgroup, "/a". */
static void set_usage(const char *dir, unsigned int us)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/a/cpu.stat", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "usage_usec %u\n", us);
	assert_int_equal(fclose(f), 0);
}

/*
 * What cgroup_coverage_tell() reports for a recording of @took ns without samples of cgroup @id,
 * which uses @us.
 */
static int told(uint64_t id, uint64_t took, unsigned int us, bool *knows)
{
	struct cgroup cg = { .name = (char *)"a", .path = (char *)"/a", .id = id };
	const struct target t = { .cgroups = { &cg, 1 } };
	const struct cgroup_coverage_samples none = { .ncpus = 2, .all = true };
	char dir[] = "/tmp/nsprof-ran.XXXXXX", path[128];
	struct cgroup_fs fs = { .v2 = true };
	struct cgroup_cpu cpu = { .fs = &fs, .usage.fd = -1, .limit.fd = -1 };
	struct cgroup_coverage r = { 0 };
	int err;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	fs.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fs.fd >= 0);
	set_usage(dir, 1000);
	cgroup_coverage_begin(&r, &t, &cpu);
	set_usage(dir, 1000 + us);
	cgroup_coverage_end(&r, &t, took);
	*knows = cgroup_coverage_knows(&r);
	err = cgroup_coverage_tell(&r, &none);
	cgroup_coverage_fini(&r);
	close(fs.fd);
	snprintf(path, sizeof(path), "%s/a/cpu.stat", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/a", dir);
	rmdir(path);
	rmdir(dir);
	return err;
}

static void test_idle(void **state)
{
	bool knows;

	(void)state;
	assert_int_equal(told(7, 300 * MS, 0, &knows), -ENODATA);
	assert_true(knows);
	assert_int_equal(told(7, 300 * MS, 5, &knows), 0);
	assert_true(knows);
	/*
	 * Shorter than two ticks of 100 Hz: recent usage may not be added yet, and the added usage
	 * may be older.
	 */
	assert_int_equal(told(7, 19 * MS, 0, &knows), 0);
	assert_false(knows);
	assert_int_equal(told(7, 19 * MS, 5, &knows), 0);
	assert_true(knows);
	assert_int_equal(told(7, 0, 0, &knows), 0);
	/* kernfs numbers the root 1; its usage is counted in ticks. */
	assert_int_equal(told(1, 300 * MS, 0, &knows), 0);
	assert_false(knows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covered),
		cmocka_unit_test(test_idle),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
