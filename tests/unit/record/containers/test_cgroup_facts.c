/*
 * What the chosen cgroups used, from the readings of those that had samples, and which container a
 * new cgroup belongs to. The hierarchy is made of plain files.
 */
#include <fcntl.h>
#include <limits.h>
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

#include "containers/cgroup_facts.h"
#include "containers/container_lookup.h"
#include "containers/containers.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "run/cgroup_coverage.h"

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
	struct cgroup_list list = { chosen, 4 };
	struct cgroup_fs fs = { .v2 = true };
	char file[64], cmd[64];
	struct cgroup_facts *cf;
	struct rec_writer *w;
	uint64_t a, b, c, in_a, begun;
	int fd, err;
	bool late;

	(void)state;
	assert_non_null(mkdtemp(dir));
	strcpy(fs.mount, dir);
	fs.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
	cf = cgroup_facts_new(&fs, &list, NULL, NULL, w);
	assert_int_equal(cgroup_facts_used(cf).us, 0);
	/*
	 * Usage counts from the first reading; a cgroup created within the recording counts fully;
	 * nested cgroups count as part of the chosen one.
	 */
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
	begun = clock_mono_ns();
	cgroup_facts_cut(cf, false);
	/*
	 * Readings take 5 ms at most; beyond that the last known values are used. Then there is
	 * nothing to compare here.
	 */
	late = clock_mono_ns() - begun >= 5000000;
	if (late)
		goto out;
	assert_int_equal(cgroup_facts_used(cf).us, 300 + 45);
	/* The next segment: b has no sample, and a has more usage. */
	make("a", 1500);
	make("b", 5100);
	cgroup_facts_met(cf, a, "/a", 0);
	make("a", 1501);
	cgroup_facts_cut(cf, true);
	assert_int_equal(cgroup_facts_used(cf).us, 501 + 45);
	assert_true(cgroup_facts_used(cf).until);
out:
	cgroup_facts_free(cf);
	rec_writer_free(w);
	close(fd);
	close(fs.fd);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
	if (late) {
		print_message("the CPU was taken for 5 ms\n");
		skip();
	}
}

/* A reading after the end of sampling may include later usage, on all CPUs. */
static void test_at_least(void **state)
{
	const struct facts_used used = { .us = 10000, .until = 5000000 };

	(void)state;
	assert_int_equal(cgroup_coverage_at_least(&used, 5000000, 2), 10000);
	assert_int_equal(cgroup_coverage_at_least(&used, 6000000, 2), 10000);
	assert_int_equal(cgroup_coverage_at_least(&used, 4000000, 2), 8000);
	assert_int_equal(cgroup_coverage_at_least(&used, 0, 4), 0);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Writes the state of runc container @id below "states": that of process @pid in "/anything". */
static void write_state(const char *top, const char *id, int pid)
{
	char path[256], text[256];

	snprintf(path, sizeof(path), "%s/states/%s", top, id);
	assert_int_equal(mkdir(path, 0755), 0);
	strcat(path, "/state.json");
	snprintf(text, sizeof(text), "{\"id\":\"%s\",\"init_process_pid\":%d,\"cgroup_paths\":{\"\":\"/anything\"}}", id, pid);
	write_text(path, text);
}

static int note_name(void *ctx, const struct ev_container *ev)
{
	snprintf(ctx, 32, "%s", ev->name);
	return 0;
}

/* Its limit is not readable here, but that there are periods shows that it has one. */
static void make_cgroup(const char *top, const char *path, int throttled)
{
	char name[256], text[256];

	snprintf(name, sizeof(name), "%s%s", top, path);
	mkdir(name, 0755);
	snprintf(name, sizeof(name), "%s%s/cpu.stat", top, path);
	snprintf(text, sizeof(text), "usage_usec 5\nnr_periods %d\nnr_throttled %d\nthrottled_usec %d\n", throttled, throttled, throttled);
	write_text(name, text);
}

static int note_limit(void *ctx, const struct ev_container *ev)
{
	char *text = ctx;

	snprintf(text + strlen(text), 256 - strlen(text), "%s %d\n", ev->cgroup, (int)ev->nr_throttled);
	return 0;
}

/* A recording in folder @top, which is the hierarchy, too. Release with end(). */
static struct rec_writer *begin(struct cgroup_fs *fs, const char *top, int *fd)
{
	char path[64];
	struct rec_writer *w;
	int err;

	strcpy(fs->mount, top);
	fs->fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/rec", top);
	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	w = rec_writer_new(*fd, &err);
	assert_non_null(w);
	return w;
}

/* Reads the events of the finished recording, and removes it with its folder. */
static void end(const struct cgroup_fs *fs, struct rec_writer *w, int fd, const struct event_ops *ops, char *text)
{
	char path[PATH_MAX + 16];
	struct rec_reader *r;

	assert_int_equal(rec_writer_finish(w), 0);
	snprintf(path, sizeof(path), "%s/rec", fs->mount);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, ops, text), 0);
	rec_reader_close(r);
	rec_writer_free(w);
	close(fd);
	close(fs->fd);
	snprintf(path, sizeof(path), "rm -r %s", fs->mount);
	assert_int_equal(system(path), 0);
}

/*
 * A first reading is put off if those before it took 5 ms. The next watch makes up for it, of four
 * cgroups at least.
 */
static void met(struct cgroup_facts *cf, const char *path)
{
	cgroup_facts_round(cf);
	cgroup_facts_met(cf, 0, path, 0);
	cgroup_facts_watch(cf);
}

/* Cgroups with a limit that a sampled one is in, once in a segment. */
static void test_limits_above(void **state)
{
	static const struct event_ops ops = { .container = note_limit };
	struct cgroup_list none = { 0 };
	struct cgroup_fs fs = { .v2 = true };
	char top[] = "/tmp/nsprof-facts-XXXXXX", text[256] = "";
	struct containers *cs;
	struct cgroup_facts *cf;
	struct rec_writer *w;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(top));
	make_cgroup(top, "/slice", 0);
	make_cgroup(top, "/slice/had", 3);
	make_cgroup(top, "/slice/had/pod", 7);
	make_cgroup(top, "/slice/had/pod/one", 0);
	make_cgroup(top, "/slice/had/pod/two", 0);
	w = begin(&fs, top, &fd);
	cs = containers_new(&fs, NULL);
	cf = cgroup_facts_new(&fs, &none, cs, NULL, w);
	met(cf, "/slice/had/pod/one");
	met(cf, "/slice/had/pod/two");
	make_cgroup(top, "/slice/had/pod", 9);
	cgroup_facts_cut(cf, true);
	cgroup_facts_free(cf);
	containers_free(cs);
	end(&fs, w, fd, &ops, text);
	assert_string_equal(text, "/slice/had/pod/one 0\n/slice/had/pod 7\n/slice/had 3\n/slice/had/pod/two 0\n"
				  "/slice/had/pod/one 0\n/slice/had/pod 9\n/slice/had 3\n/slice/had/pod/two 0\n");
}

/* Writes cpu.stat and cpu.max of a cgroup. @stat: what its cpu.stat has after the CPU time. */
static void set_limit(const char *top, const char *path, int usage, const char *stat, const char *max)
{
	char name[256], text[256];

	snprintf(name, sizeof(name), "%s%s", top, path);
	mkdir(name, 0755);
	snprintf(name, sizeof(name), "%s%s/cpu.stat", top, path);
	snprintf(text, sizeof(text), "usage_usec %d\n%s", usage, stat);
	write_text(name, text);
	snprintf(name, sizeof(name), "%s%s/cpu.max", top, path);
	write_text(name, max);
}

#define PERIODS(n) "nr_periods " #n "\nnr_throttled " #n "\nthrottled_usec " #n "\n"

/* "PATH USAGE LIMIT THROTTLED" for each; "-": not known. */
static int note_change(void *ctx, const struct ev_container *ev)
{
	char *text = ctx;
	size_t len = strlen(text);

	len += (size_t)snprintf(text + len, 512 - len, "%s %d %d", ev->cgroup, (int)ev->usage_us, (int)ev->quota_us);
	if (ev->have_throttling)
		snprintf(text + len, 512 - len, " %d\n", (int)ev->nr_throttled);
	else
		snprintf(text + len, 512 - len, " -\n");
	return 0;
}

/* Reads limits in the hierarchy that the test has made, too, not in this machine's. */
static void read_here(const struct cgroup_facts *cf)
{
	cgroup_cpu_close((struct cgroup_cpu *)cgroup_facts_cpu(cf));
}

/*
 * Limits that are set, changed and removed while recording, on the sampled cgroup and on those it
 * is in. The cpu controller is turned on together with the limit. So a cgroup without a limit was
 * never throttled before, and its counters begin with its first reading.
 */
static void test_limits_change(void **state)
{
	static const struct event_ops ops = { .container = note_change };
	struct cgroup_list none = { 0 };
	struct cgroup_fs fs = { .v2 = true };
	char top[] = "/tmp/nsprof-facts-XXXXXX", text[512] = "";
	struct containers *cs;
	struct cgroup_facts *cf;
	struct rec_writer *w;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(top));
	set_limit(top, "/free", 1, "", "max 100000");
	set_limit(top, "/free/late", 2, "", "max 100000");
	set_limit(top, "/free/late/early", 3, PERIODS(0), "max 100000");
	set_limit(top, "/free/late/early/own", 4, "", "max 100000");
	w = begin(&fs, top, &fd);
	cs = containers_new(&fs, NULL);
	cf = cgroup_facts_new(&fs, &none, cs, NULL, w);
	read_here(cf);
	met(cf, "/free/late/early/own");
	/* Set, changed, and removed again. */
	set_limit(top, "/free/late/early", 30, PERIODS(5), "2000 100000");
	set_limit(top, "/free/late/early/own", 40, PERIODS(6), "1000 100000");
	cgroup_facts_watch(cf);
	set_limit(top, "/free/late/early", 31, PERIODS(7), "3000 100000");
	cgroup_facts_watch(cf);
	set_limit(top, "/free/late/early", 32, PERIODS(8), "max 100000");
	cgroup_facts_watch(cf);
	/* Nobody looks between this and the end. */
	set_limit(top, "/free", 10, "", "max 100000");
	set_limit(top, "/free/late", 20, PERIODS(9), "5000 100000");
	set_limit(top, "/free/late/early", 33, PERIODS(10), "4000 100000");
	/* As if it were the last one: with time for all. */
	cgroup_facts_cut(cf, true);
	/* Another segment: what has a limit now has it from the start, and the rest is as before. */
	met(cf, "/free/late/early/own");
	cgroup_facts_cut(cf, true);
	cgroup_facts_free(cf);
	containers_free(cs);
	end(&fs, w, fd, &ops, text);
	assert_string_equal(text, "/free/late/early/own 4 0 -\n"
				  "/free/late/early/own 4 0 0\n/free/late/early/own 40 1000 6\n"
				  "/free/late/early 3 0 0\n/free/late/early 30 2000 5\n"
				  "/free/late/early 31 3000 7\n"
				  "/free/late/early 32 0 8\n"
				  "/free/late/early/own 40 1000 6\n/free/late/early 33 4000 10\n"
				  "/free/late 2 0 0\n/free/late 20 5000 9\n"
				  "/free/late/early/own 40 1000 6\n/free/late/early 33 4000 10\n/free/late 20 5000 9\n"
				  "/free/late/early/own 40 1000 6\n/free/late/early 33 4000 10\n/free/late 20 5000 9\n");
}

/* "PATH USAGE" for each. */
static int note_usage(void *ctx, const struct ev_container *ev)
{
	char *text = ctx;

	snprintf(text + strlen(text), 256 - strlen(text), "%s %d\n", ev->cgroup, (int)ev->usage_us);
	return 0;
}

/*
 * A removed cgroup is written and forgotten while the recording goes on, so that memory does not
 * grow with the number of cgroups. Another one may take its path.
 */
static void test_removed(void **state)
{
	static const struct event_ops ops = { .container = note_usage };
	struct cgroup chosen[] = { { .path = (char *)"/one", .fd = -1 }, { .path = (char *)"/two", .fd = -1 } };
	struct cgroup_list list = { chosen, 2 };
	struct cgroup_fs fs = { .v2 = true };
	char path[64], text[256] = "";
	struct containers *cs;
	struct cgroup_facts *cf;
	struct rec_writer *w;
	uint64_t one, two, begun;
	int fd;
	bool late;

	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	w = begin(&fs, dir, &fd);
	one = make("one", 5);
	two = make("two", 9);
	cs = containers_new(&fs, NULL);
	cf = cgroup_facts_new(&fs, &list, cs, NULL, w);
	begun = clock_mono_ns();
	cgroup_facts_met(cf, one, "/one", 0);
	cgroup_facts_met(cf, two, "/two", 0);
	make("one", 7);
	cgroup_facts_watch(cf);
	snprintf(path, sizeof(path), "%s/one/cpu.stat", dir);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	/* The first call sees it, the others may find that the rings were drained since. */
	for (int i = 0; i < 3; i++)
		cgroup_facts_watch(cf);
	assert_int_equal(cgroup_facts_used(cf).us, 2);
	cgroup_facts_met(cf, make("three", 1), "/three", 0);
	cgroup_facts_met(cf, make("one", 100), "/one", 0);
	/* Readings take 5 ms at most between two drains. Later ones are put off. */
	late = clock_mono_ns() - begun >= 5000000;
	make("one", 130);
	cgroup_facts_cut(cf, true);
	if (!late)
		assert_int_equal(cgroup_facts_used(cf).us, 2 + 30);
	cgroup_facts_free(cf);
	containers_free(cs);
	end(&fs, w, fd, &ops, text);
	if (late) {
		print_message("the CPU was taken for 5 ms\n");
		skip();
	}
	assert_string_equal(text, "/one 5\n/two 9\n/one 7\n/three 1\n/one 100\n/two 9\n/three 1\n/one 130\n");
}

/*
 * Lookups may take 1/20 of the time, so the next one is delayed. The runtime was queried a moment
 * ago when the container's program is executed, and its state appears, among a thousand others. The
 * container may be over before its turn comes.
 */
static void test_exec_out_of_turn(void **state)
{
	static const struct event_ops ops = { .container = note_name };
	struct cgroup_list none = { 0 };
	struct cgroup_fs fs = { .v2 = true };
	char top[] = "/tmp/nsprof-facts-XXXXXX", path[256], roots[64], proc[64], name[32] = "";
	struct cgroup_facts *cf;
	struct rec_reader *r;
	struct rec_writer *w;
	int fd, err;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(top));
	for (const char *const *d = (const char *const[]){ "states", "proc", "proc/1", "proc/77", "fs", "fs/anything", NULL }; *d; d++) {
		snprintf(path, sizeof(path), "%s/%s", top, *d);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_int_equal(stat(path, &st), 0);
	snprintf(path, sizeof(path), "%s/proc/1/root", top);
	assert_int_equal(symlink("/", path), 0);
	snprintf(path, sizeof(path), "%s/proc/77/cgroup", top);
	write_text(path, "0::/anything\n");
	snprintf(path, sizeof(path), "%s/proc/77/stat", top);
	write_text(path, "77 (web) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0");
	for (int i = 0; i < 1000; i++) {
		char id[32];

		snprintf(id, sizeof(id), "dead-%d", i);
		write_state(top, id, 4194304);
	}
	snprintf(proc, sizeof(proc), "%s/proc", top);
	nsopen_set_proc(proc);
	snprintf(fs.mount, sizeof(fs.mount), "%s/fs", top);
	fs.fd = open(fs.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(roots, sizeof(roots), "%s/states", top);
	snprintf(path, sizeof(path), "%s/rec", top);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);

	cf = cgroup_facts_new(&fs, &none, NULL, roots, w);
	cgroup_facts_born(cf, st.st_ino);
	cgroup_facts_met(cf, st.st_ino, "/anything", 77);
	cgroup_facts_exec(cf, 77);
	write_state(top, "web", 77);
	/* An exec of a process in another cgroup. */
	cgroup_facts_exec(cf, 78);
	cgroup_facts_exec(cf, 77);
	/* The caller waits only briefly for each answer and takes it later. */
	for (int idle = 0; idle < 3; usleep(2000)) {
		cgroup_facts_round(cf);
		idle = container_lookup_known(cgroup_facts_lookup(cf)) ? idle + 1 : 0;
	}
	cgroup_facts_free(cf);
	assert_int_equal(rec_writer_finish(w), 0);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, name), 0);
	rec_reader_close(r);
	assert_string_equal(name, "web");

	rec_writer_free(w);
	close(fd);
	close(fs.fd);
	nsopen_set_proc("/proc");
	snprintf(path, sizeof(path), "rm -r %s", top);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_at_least),
		cmocka_unit_test(test_limits_above),
		cmocka_unit_test(test_limits_change),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_exec_out_of_turn),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
