/*
 * Container lookups block their caller for a bounded time only, however many state files there are
 * and however long they take to read.
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

#include "containers/container_lookup.h"
#include "host/clock.h"
#include "host/nsopen.h"

#define DEAD 600
/* The caller waits on a condition variable for this time; the rest is its own work. */
#define HELD_MAX_NS (CONTAINER_LOOKUP_WAIT_NS + 100000000ull)

struct rig {
	char top[64], roots[96];
	struct cgroup_fs fs;
	struct container_lookup *lk;
	char *proc;		/* owned */
};

/* Time without waiting for a CPU in this thread (/proc/thread-self/schedstat: ran, waited). */
static uint64_t now_ns(void)
{
	unsigned long long waited = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f) {
		if (fscanf(f, "%*u %llu", &waited) != 1)
			waited = 0;
		fclose(f);
	}
	return clock_mono_ns() - waited;
}

/* Waiting for a CPU between the two readings above may be subtracted once too often. */
static uint64_t since(uint64_t begun)
{
	const uint64_t now = now_ns();

	return now > begun ? now - begun : 0;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void folder(const struct rig *r, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", r->top, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* A runc state whose process no longer exists. */
static void dead(const struct rig *r, int i)
{
	char path[256], text[256];

	snprintf(path, sizeof(path), "states/dead-%d", i);
	folder(r, path);
	snprintf(path, sizeof(path), "%s/states/dead-%d/state.json", r->top, i);
	snprintf(text, sizeof(text), "{\"id\":\"dead-%d\",\"init_process_pid\":4194304,\"init_process_start\":9,"
		 "\"cgroup_paths\":{\"\":\"/dead/%d\"}}", i, i);
	write_text(path, text);
}

static void begin(struct rig *r)
{
	static const char *const folders[] = { "states", "proc", "proc/1", "fs", "fs/anything", "fs/lxc.payload.old" };
	char path[256];

	*r = (struct rig){ .top = "/tmp/nsprof-lookup-XXXXXX", .fs = { .v2 = true } };
	assert_non_null(mkdtemp(r->top));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		folder(r, folders[i]);
	for (int i = 0; i < DEAD; i++)
		dead(r, i);
	snprintf(path, sizeof(path), "%s/proc/1/root", r->top);
	assert_int_equal(symlink("/", path), 0);
	snprintf(path, sizeof(path), "%s/proc", r->top);
	r->proc = strdup(path);
	nsopen_set_proc(r->proc);
	snprintf(r->fs.mount, sizeof(r->fs.mount), "%s/fs", r->top);
	r->fs.fd = open(r->fs.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(r->roots, sizeof(r->roots), "%s/states", r->top);
	r->lk = container_lookup_new(&r->fs, NULL, r->roots);
}

static void end(struct rig *r)
{
	char command[128];

	container_lookup_free(r->lk);
	close(r->fs.fd);
	nsopen_set_proc("/proc");
	free(r->proc);
	snprintf(command, sizeof(command), "rm -r %s", r->top);
	assert_int_equal(system(command), 0);
}

static void idle(const struct rig *r)
{
	enum container_lookup_state got;

	container_lookup_of(r->lk, "/anything", false, &got);
	while (!container_lookup_known(r->lk))
		usleep(1000);
}

/* Each round is bounded, whatever it queries, and how often. */
static void test_held(void **state)
{
	static const char *const paths[] = { "/anything" };
	uint64_t longest = 0, took = 0, begun;
	struct rig r;
	enum container_lookup_state got;

	(void)state;
	begin(&r);
	begun = now_ns();
	container_lookup_of(r.lk, "/anything", false, &got);
	assert_in_range(since(begun), 0, HELD_MAX_NS);
	idle(&r);
	for (int i = 0; i < 12; i++) {
		uint64_t held;

		begun = now_ns();
		container_lookup_round(r.lk);
		if (container_lookup_known(r.lk))
			container_lookup_ask(r.lk, i % 2 ? CONTAINER_LOOKUP_BEGUN : CONTAINER_LOOKUP_ALL, paths, 1);
		for (int k = 0; k < 50; k++)
			container_lookup_of(r.lk, "/anything", true, &got);
		held = since(begun);
		longest = held > longest ? held : longest;
		idle(&r);
		took = container_lookup_took(r.lk) > took ? container_lookup_took(r.lk) : took;
	}
	idle(&r);
	print_message("# %d dead states: the longest answer took %llu us, and who asks was held for %llu us at most\n", DEAD,
		      (unsigned long long)took / 1000, (unsigned long long)longest / 1000);
	assert_in_range(longest, 0, HELD_MAX_NS);
	end(&r);
}

static bool no_room(void *ctx)
{
	++*(int *)ctx;
	return false;
}

/* While rings fill up, the caller does not wait at all. */
static void test_no_room(void **state)
{
	uint64_t begun;
	struct rig r;
	enum container_lookup_state got;
	int asked = 0;

	(void)state;
	begin(&r);
	container_lookup_while(r.lk, no_room, &asked);
	begun = now_ns();
	container_lookup_of(r.lk, "/anything", false, &got);
	assert_int_equal(got, CONTAINER_LOOKUP_UNDER_WAY);
	assert_int_equal(asked, 1);
	assert_in_range(since(begun), 0, CONTAINER_LOOKUP_WAIT_NS);
	end(&r);
}

/* While the thread works, nothing is known and no query starts; afterwards there is an answer. */
static void test_busy(void **state)
{
	struct rig r;
	enum container_lookup_state got;
	uint64_t begun;

	(void)state;
	begin(&r);
	idle(&r);
	container_lookup_round(r.lk);
	for (int i = 0; i < 3; i++) {
		begun = now_ns();
		container_lookup_of(r.lk, "/anything", true, &got);
		assert_in_range(since(begun), 0, HELD_MAX_NS);
		if (got != CONTAINER_LOOKUP_ANSWERED)
			assert_null(container_lookup_of(r.lk, "/anything", false, &got));
	}
	idle(&r);
	container_lookup_round(r.lk);
	/* No state file mentions it, and that is an answer. */
	assert_null(container_lookup_of(r.lk, "/anything", false, &got));
	end(&r);
}

/* A known container has its name while all state is read again, however long that takes. */
static void test_known_meanwhile(void **state)
{
	const struct container *c;
	enum container_lookup_state got;
	struct rig r;
	int asked = 0;

	(void)state;
	begin(&r);
	container_lookup_first(r.lk);
	idle(&r);
	container_lookup_while(r.lk, no_room, &asked);
	assert_false(container_lookup_ask(r.lk, CONTAINER_LOOKUP_ALL, NULL, 0));
	c = container_lookup_of(r.lk, "/lxc.payload.old/sub", false, &got);
	assert_int_equal(got, CONTAINER_LOOKUP_ANSWERED);
	assert_non_null(c);
	assert_string_equal(c->name, "old");
	/* Also when the thread is idle and the rings are full. */
	idle(&r);
	c = container_lookup_of(r.lk, "/lxc.payload.old/sub", false, &got);
	assert_int_equal(got, CONTAINER_LOOKUP_ANSWERED);
	assert_non_null(c);
	assert_string_equal(c->name, "old");
	assert_false(container_lookup_ask(r.lk, CONTAINER_LOOKUP_ALL, NULL, 0));
	/* But not one that may have been replaced, nor an unknown one. */
	assert_null(container_lookup_of(r.lk, "/lxc.payload.old", true, &got));
	assert_int_equal(got, CONTAINER_LOOKUP_BUSY);
	assert_null(container_lookup_of(r.lk, "/anything", false, &got));
	assert_int_equal(got, CONTAINER_LOOKUP_BUSY);
	end(&r);
}

/* The state file of a dead process is not read again, unless the file was replaced. */
static void test_dead_once(void **state)
{
	static const char *const paths[] = { "/anything" };
	const struct container *c;
	enum container_lookup_state got;
	uint64_t all, again;
	char path[256], text[256];
	struct rig r;
	int asked = 0;

	(void)state;
	begin(&r);
	usleep(200000);
	container_lookup_first(r.lk);
	idle(&r);
	container_lookup_while(r.lk, no_room, &asked);
	all = container_lookup_cpu(r.lk);
	container_lookup_ask(r.lk, CONTAINER_LOOKUP_BEGUN, paths, 1);
	while (!container_lookup_known(r.lk))
		usleep(1000);
	again = container_lookup_cpu(r.lk) - all;
	print_message("# %d dead states: %llu us of CPU time at first, %llu us when asked again\n", DEAD,
		      (unsigned long long)all / 1000, (unsigned long long)again / 1000);
	assert_in_range(again, 0, all / 2);
	/* The runtime has not written the process yet. */
	snprintf(path, sizeof(path), "%s/states/dead-7/state.json", r.top);
	snprintf(text, sizeof(text), "{\"id\":\"dead-7\",\"cgroup_paths\":{\"\":\"/anything\"}}");
	write_text(path, text);
	container_lookup_of(r.lk, "/anything", true, &got);
	while (!container_lookup_known(r.lk))
		usleep(1000);
	c = containers_of(container_lookup_known(r.lk), "/anything");
	assert_non_null(c);
	assert_string_equal(c->id, "dead-7");
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_known_meanwhile),
		cmocka_unit_test(test_dead_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("record_lookup", tests, NULL, NULL);
}
