/*
 * Two cgroups with the ID of one container, of which an earlier start left one: the one with processes
 * is the container, whenever it got them.
 */
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

#include "containers/containers_priv.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LEFT "/one/docker-" ID ".scope"
#define RUNS "/two/docker-" ID ".scope"

struct rig {
	char top[64];
	struct cgroup_fs fs;
	struct containers *cs;
};

static void populate(const struct rig *r, const char *cgroup, bool populated)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s/cgroup.events", r->top, cgroup);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "populated %d\nfrozen 0\n", populated);
	fclose(f);
}

static void folder(const struct rig *r, const char *cgroup)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", r->top, cgroup);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void begin(struct rig *r)
{
	*r = (struct rig){ .top = "/tmp/nsprof-claims-XXXXXX", .fs = { .v2 = true } };
	assert_non_null(mkdtemp(r->top));
	chmod(r->top, 0755);
	snprintf(r->fs.mount, sizeof(r->fs.mount), "%s", r->top);
	r->fs.fd = open(r->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder(r, "/one");
	folder(r, "/two");
	r->cs = containers_new(&r->fs, r->top);
	folder(r, LEFT);
	folder(r, RUNS);
	populate(r, LEFT, false);
	populate(r, RUNS, false);
}

static void end(struct rig *r)
{
	char command[128];

	containers_free(r->cs);
	close(r->fs.fd);
	snprintf(command, sizeof(command), "rm -r %s", r->top);
	assert_int_equal(system(command), 0);
}

static void note(const struct rig *r, const char *cgroup)
{
	struct cgroup_path p;

	assert_true(containers_parse(r->cs, cgroup, &p));
	containers_note_path(r->cs, cgroup, &p);
}

/* How many containers have the ID, in which cgroup the latest of them is, and how many are none. */
static size_t with_id(const struct rig *r, const char **cgroup, size_t *none)
{
	const struct container *all = r->cs->all;
	size_t with = 0;

	*none = 0;
	*cgroup = "";
	for (size_t i = 0; i < r->cs->n; i++) {
		*none += !all[i].id[0];
		if (strcmp(all[i].id, ID))
			continue;
		*cgroup = all[i].cgroup;
		with++;
	}
	return with;
}

/* Both were found empty; then the container started. */
static void test_starts_meanwhile(void **state)
{
	static const char *const orders[][2] = { { LEFT, RUNS }, { RUNS, LEFT } };
	const char *cgroup;
	struct rig r;
	size_t none;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&r);
		note(&r, orders[i][0]);
		note(&r, orders[i][1]);
		populate(&r, RUNS, true);
		containers_settle(r.cs, 0);
		assert_int_equal(with_id(&r, &cgroup, &none), 1);
		assert_string_equal(cgroup, RUNS);
		assert_int_equal(none, 0);
		end(&r);
	}
}

/* It was reported in its first cgroup, ends while the second is looked at, and starts there. */
static void test_starts_again(void **state)
{
	const char *cgroup;
	struct rig r;
	size_t none;

	(void)state;
	begin(&r);
	populate(&r, LEFT, true);
	note(&r, LEFT);
	containers_settle(r.cs, 0);
	container_learn(&r.cs->all[0].name, "shop");
	r.cs->finished = r.cs->n;
	note(&r, RUNS);
	populate(&r, LEFT, false);
	populate(&r, RUNS, true);
	containers_settle(r.cs, r.cs->n);
	assert_int_equal(with_id(&r, &cgroup, &none), 2);
	assert_string_equal(cgroup, RUNS);
	assert_int_equal(none, 0);
	assert_string_equal(r.cs->all[0].cgroup, LEFT);
	assert_string_equal(r.cs->all[r.cs->n - 1].name, "shop");
	end(&r);
}

/* Both have processes, and nothing proves which one it is. */
static void test_tie(void **state)
{
	const char *cgroup;
	struct rig r;
	size_t none;

	(void)state;
	begin(&r);
	note(&r, LEFT);
	note(&r, RUNS);
	populate(&r, LEFT, true);
	populate(&r, RUNS, true);
	containers_settle(r.cs, 0);
	assert_int_equal(with_id(&r, &cgroup, &none), 1);
	assert_string_equal(cgroup, "");
	assert_int_equal(none, 2);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_meanwhile), cmocka_unit_test(test_starts_again), cmocka_unit_test(test_tie),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
