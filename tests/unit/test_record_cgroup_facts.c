/* What chosen cgroups used, by the looks at those that had samples: a hierarchy of plain files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup_facts.h"
#include "ran.h"
#include "rec_writer.h"

static char dir[] = "/tmp/nsprof-facts-XXXXXX";

static uint64_t make(const char *name, uint64_t us)
{
	char path[128];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	mkdir(path, 0755);
	assert_int_equal(stat(path, &st), 0);
	strcat(path, "/cpu.stat");
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "usage_usec %llu\n", (unsigned long long)us);
	fclose(f);
	return st.st_ino;
}

static void test_used(void **state)
{
	struct cgroup chosen[] = { { .path = (char *)"/a", .fd = -1 }, { .path = (char *)"/b", .fd = -1 },
				   { .path = (char *)"/c", .fd = -1 }, { .path = (char *)"/quiet", .fd = -1 } };
	struct target t = { .cgroups = chosen, .ncgroups = 4, .fs = { .v2 = true } };
	char file[64], cmd[64];
	struct cgroup_facts *cf;
	struct rec_writer *w;
	uint64_t a, b, c, in_a;
	int fd, err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	strcpy(t.fs.mount, dir);
	t.fs.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(file, sizeof(file), "%s/rec", dir);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	a = make("a", 1000);
	in_a = make("a/in", 700);
	b = make("b", 5000);
	c = make("c", 40);
	make("quiet", 9);
	make("other", 1);
	cf = cgroup_facts_new(&t, NULL, NULL, w);
	assert_int_equal(cgroup_facts_used(cf).us, 0);
	/* From the first look on; of one made within the recording all; what lies in a chosen one is its. */
	cgroup_facts_met(cf, a, "/a", 0);
	cgroup_facts_met(cf, in_a, "/a/in", 0);
	cgroup_facts_met(cf, b, "/b", 0);
	cgroup_facts_born(cf, c);
	cgroup_facts_met(cf, c, "/c", 0);
	cgroup_facts_met(cf, 0, "/other", 0);
	assert_int_equal(cgroup_facts_used(cf).us, 40);
	make("a", 1300);
	make("a/in", 900);
	make("c", 45);
	make("quiet", 1000000);
	make("other", 1000000);
	cgroup_facts_cut(cf, false);
	assert_int_equal(cgroup_facts_used(cf).us, 300 + 45);
	/* The next segment: b has no sample, and a has more. */
	make("a", 1500);
	make("b", 5100);
	cgroup_facts_met(cf, a, "/a", 0);
	make("a", 1501);
	cgroup_facts_cut(cf, true);
	assert_int_equal(cgroup_facts_used(cf).us, 501 + 45);
	assert_true(cgroup_facts_used(cf).until);
	cgroup_facts_free(cf);
	rec_writer_free(w);
	close(fd);
	close(t.fs.fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
}

/* What is read when sampling has ended may be of after it, on all CPUs. */
static void test_at_least(void **state)
{
	const struct facts_used used = { .us = 10000, .until = 5000000 };

	(void)state;
	assert_int_equal(ran_at_least(&used, 5000000, 2), 10000);
	assert_int_equal(ran_at_least(&used, 6000000, 2), 10000);
	assert_int_equal(ran_at_least(&used, 4000000, 2), 8000);
	assert_int_equal(ran_at_least(&used, 0, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_at_least),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
