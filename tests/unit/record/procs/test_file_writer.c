/* Maps and dumps that another program writes to between the look at the file and its reading. */
#include <fcntl.h>
#include <sys/personality.h>

#include "capture/capture_job.h"
#include "jitdump.h"
#include "procs/hostmap.h"
#include "proctab_fixture.h"

#define CODE 0x200000000000ull

static char map[64];
static struct child c;
static struct proc *p;

static void write_line(const char *mode, const char *name)
{
	FILE *f = fopen(map, mode);

	assert_non_null(f);
	fprintf(f, "%llx 100 %s\n", CODE, name);
	fclose(f);
}

/* @ns before now. */
static void age(const char *path, int64_t ns)
{
	const int64_t at = clock_wall_ns(now()) - ns;
	const struct timespec times[2] = { { at / 1000000000, at % 1000000000 }, { at / 1000000000, at % 1000000000 } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void becomes_sleep(int ready, int go, void *arg)
{
	if (arg)
		personality(ADDR_NO_RANDOMIZE);
	wait_here(ready, go);
	execl("/bin/sleep", "sleep", "60", NULL);
}

/* A process with a perf map half a second old. */
static int begin(void **state)
{
	if (setup(state))
		return -1;
	c = start(becomes_sleep, *state);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", c.pid);
	unlink(map);
	write_line("w", "own");
	age(map, 500000000);
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	return p->facts ? 0 : -1;
}

static int end(void **state)
{
	stop_child(&c);
	unlink(map);
	return teardown(state);
}

static void prepare(struct capture_job *job)
{
	uint64_t *addrs = malloc(sizeof(*addrs));

	assert_non_null(addrs);
	*addrs = CODE + 8;
	perfmap_prepare(p->facts, 1, "test", addrs, 1, job);
}

/* Longer ago than a tick: the next one does not write earlier after an exit. */
static void over(bool exec)
{
	p->facts->over_time = now() - 100000000;
	p->facts->over_exec = exec;
}

static void assert_own(struct capture_job *job)
{
	capture_job_run(job);
	assert_int_equal(job->err, 0);
	assert_non_null(strstr(job->rows.s, " own"));
	capture_job_fini(job);
}

static void assert_refused(struct capture_job *job)
{
	struct strbuf note = STRBUF_INIT;

	capture_job_run(job);
	assert_int_equal(job->rows.len, 0);
	assert_true(capture_job_refused(job, &note));
	assert_non_null(strstr(note.s, "it was written to when its process had ended, or ran another program"));
	strbuf_fini(&note);
	capture_job_fini(job);
}

/* Another program with the same number begins, and writes after the file was found to be old enough. */
static void test_over(void **state)
{
	struct capture_job job;

	(void)state;
	for (int exec = 0; exec < 2; exec++) {
		write_line("w", "own");
		age(map, 500000000);
		over(exec);
		prepare(&job);
		assert_own(&job);
		prepare(&job);
		write_line("a", "next");
		assert_refused(&job);
	}
}

/* The same where the bytes are copied before they are read, because the file system may not answer. */
static void test_copied(void **state)
{
	struct capture_job job;

	(void)state;
	for (int late = 0; late < 2; late++) {
		write_line("w", "own");
		age(map, 500000000);
		over(true);
		prepare(&job);
		job.map[0].pinned.fd = open(map, O_PATH | O_CLOEXEC);
		job.map[0].named.fd = -1;
		if (late)
			write_line("a", "next");
		if (late)
			assert_refused(&job);
		else
			assert_own(&job);
	}
}

/* Lets the process begin another program. Its record has not been read yet. */
static void begin_sleep(void)
{
	char path[64], exe[256] = "";

	close(c.go);
	c.go = -1;
	snprintf(path, sizeof(path), "/proc/%d/exe", c.pid);
	while (!strstr(exe, "/sleep")) {
		memset(exe, 0, sizeof(exe));
		assert_true(readlink(path, exe, sizeof(exe) - 1) > 0);
		usleep(1000);
	}
	/* What it writes now has a later time: clocks of file systems tick at least 100 times a second. */
	usleep(20000);
}

/* While the process lives, it is asked what it runs after the file was read. */
static void test_lives(void **state)
{
	struct capture_job job;

	(void)state;
	write_line("a", "own");
	prepare(&job);
	assert_own(&job);
	prepare(&job);
	write_line("a", "own");
	assert_own(&job);
	prepare(&job);
	begin_sleep();
	write_line("a", "next");
	assert_refused(&job);
	prepare(&job);
	assert_refused(&job);
}

/* A program that was sampled since the file was written to has written it, whatever the process runs by now. */
static void test_sampled_since(void **state)
{
	struct capture_job job;

	(void)state;
	prepare(&job);
	begin_sleep();
	assert_own(&job);
	stop_child(&c);
	prepare(&job);
	assert_own(&job);
	prepare(&job);
	write_line("a", "next");
	assert_refused(&job);
	c = start(plain_child, NULL);
}

/* The map of a process that has ended belongs to its children, which may still write to it. */
static void test_outlived(void **state)
{
	const uint32_t child = GONE;
	struct capture_job job;

	(void)state;
	fork_of(child, (uint32_t)c.pid);
	stop_child(&c);
	exit_of((uint32_t)c.pid, (uint32_t)c.pid, now());
	write_line("a", "own");
	prepare(&job);
	assert_own(&job);
	c = start(plain_child, NULL);
}

/* But a list of captures writes to nothing. */
static void test_listed(void **state)
{
	struct capture_job job;
	struct caplist *cl;

	(void)state;
	proc_saw_code(p, CODE + 8);
	addrset_add(&p->jit, CODE + 8);
	cl = proctab_cut(pt);
	assert_non_null(caplist_find(cl, CAPTURE_PERF_MAP, p->serial));
	stop_child(&c);
	exit_of((uint32_t)c.pid, (uint32_t)c.pid, now() - 100000000);
	assert_true(p->facts->over_time > 0);
	prepare(&job);
	write_line("a", "next");
	assert_refused(&job);
	caplist_free(cl, &pt->files.pins);
	c = start(plain_child, NULL);
}

/* A jitdump with one function, as by an engine that begins its file anew. */
static void write_dump(const char *path, const char *name)
{
	const size_t len = strlen(name) + 1;
	const struct jitdump_header h = { .magic = JITDUMP_MAGIC, .version = JITDUMP_VERSION, .total_size = sizeof(h), .time = now() };
	const struct jitdump_load l = { .vma = CODE, .addr = CODE, .size = 16 };
	const struct jitdump_prefix pre = { .id = JITDUMP_LOAD, .total_size = (uint32_t)(sizeof(pre) + sizeof(l) + len + 16), .time = now() };
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fwrite(&h, sizeof(h), 1, f);
	fwrite(&pre, sizeof(pre), 1, f);
	fwrite(&l, sizeof(l), 1, f);
	fwrite(name, len, 1, f);
	fwrite("0123456789abcdef", 16, 1, f);
	fclose(f);
}

/* Two engines in turn may have one name for their jitdump, too. */
static void test_dump(void **state)
{
	struct pin *pin = &p->facts->jitdump[0];
	char path[] = "/tmp/jit-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	pins_hold(&pt->files.pins, pin, fd);
	for (int late = 0; late < 2; late++) {
		uint64_t *addrs = malloc(sizeof(*addrs));
		struct capture_job job;

		*addrs = CODE + 8;
		write_dump(path, "own");
		age(path, 500000000);
		over(true);
		jitdump_prepare(p->facts, 1, "test", addrs, 1, &job);
		if (late)
			write_dump(path, "next");
		capture_job_run(&job);
		assert_int_equal(job.err != 0, late);
		assert_int_equal(job.rows.len != 0, !late);
		if (!late)
			assert_non_null(memmem(job.rows.s, job.rows.len, "own", 4));
		capture_job_fini(&job);
	}
	unlink(path);
}

/* An import reads the map of a process that ran on this host, up to an exec. */
static void test_hostmap(void **state)
{
	const uint64_t t = now();
	int fd;

	(void)state;
	stop_child(&c);
	proctab_free(pt);
	pt = proctab_new(w);
	proctab_detach(pt, 0, true);
	proctab_host_maps(pt, t - 10000000000, clock_wall_ns(t) - 10000000000, 0);
	p = proctab_know(pt, (uint32_t)c.pid);
	p->exec_time = t - 5000000000;
	p->last_time = p->over_time = t - 100000000;
	fd = hostmap_of(p);
	assert_true(fd >= 0);
	assert_true(hostmap_still(p, fd));
	write_line("a", "next");
	assert_false(hostmap_still(p, fd));
	/* Nor may it be another file. */
	unlink(map);
	write_line("w", "next");
	age(map, 500000000);
	assert_false(hostmap_still(p, fd));
	close(fd);
	c = start(plain_child, NULL);
}

int main(void)
{
	static char not_random[] = "with the places of programs not randomized";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_over, begin, end),
		cmocka_unit_test_setup_teardown(test_copied, begin, end),
		cmocka_unit_test_setup_teardown(test_lives, begin, end),
		cmocka_unit_test_prestate_setup_teardown(test_lives, begin, end, not_random),
		cmocka_unit_test_setup_teardown(test_sampled_since, begin, end),
		cmocka_unit_test_setup_teardown(test_outlived, begin, end),
		cmocka_unit_test_setup_teardown(test_listed, begin, end),
		cmocka_unit_test_setup_teardown(test_dump, begin, end),
		cmocka_unit_test_setup_teardown(test_hostmap, begin, end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
