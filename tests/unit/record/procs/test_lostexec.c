/* A lost exec record: the process turns out to run another program than side-band reported. */
#include <fcntl.h>

#include "host/nsopen.h"
#include "proctab_fixture.h"

#define IP 0x10	/* in no mapping */

static bool exec_ahead, lost_ahead;

static bool exec_since(void *ctx, uint32_t pid, uint64_t time)
{
	(void)ctx;
	(void)pid;
	(void)time;
	return exec_ahead;
}

static bool lost_since(void *ctx, uint64_t time)
{
	(void)ctx;
	(void)time;
	return lost_ahead;
}

static void becomes_sleep(int ready, int go, void *arg)
{
	(void)arg;
	wait_here(ready, go);
	execl("/bin/sleep", "sleep", "60", NULL);
}

/* Lets the child exec sleep, and waits until its mappings are there. */
static void begin_sleep(struct child *c)
{
	char path[64], exe[256] = "";

	close(c->go);
	c->go = -1;
	snprintf(path, sizeof(path), "/proc/%d/exe", c->pid);
	while (!strstr(exe, "/sleep")) {
		memset(exe, 0, sizeof(exe));
		assert_true(readlink(path, exe, sizeof(exe) - 1) > 0);
		usleep(1000);
	}
	/* In nanosleep(2), so the loader is done. */
	snprintf(path, sizeof(path), "/proc/%d/stat", c->pid);
	for (char state = 'R'; state != 'S'; usleep(1000)) {
		FILE *f = fopen(path, "r");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d %*[^)]) %c", &state), 1);
		fclose(f);
	}
}

static bool has_sleep(const struct proc *p)
{
	for (uint32_t i = 0; i < p->maps->n; i++)
		if (strstr(intern_str(pt->files.paths, p->maps->maps[i].path), "/sleep"))
			return true;
	return false;
}

static void look_ahead(void)
{
	exec_ahead = lost_ahead = false;
	proctab_look_ahead(pt, exec_since, lost_since, NULL);
}

/* Known only as forked, and believed gone: its exec and mappings were all lost. */
static void test_forked(void **state)
{
	struct child c = start(becomes_sleep, NULL);
	const uint32_t pid = (uint32_t)c.pid, us = (uint32_t)getpid();
	const uint64_t t = now();
	struct proc *p;

	(void)state;
	look_ahead();
	assert_int_equal(proctab_read(pt, us, t), 0);
	proctab_fork(pt, &(struct ev_task){ .time = t, .pid = pid, .tid = pid, .ppid = us, .ptid = us });
	begin_sleep(&c);
	p = proctab_sampled(pt, pid, pid, t + 1);
	assert_false(has_sleep(p));
	/* Without a loss, the exec is still to come. */
	p = proctab_sampled(pt, pid, pid, t + 1000000000);
	assert_false(has_sleep(p));
	proctab_lost(pt);
	/* The record may have been lost after the sample. */
	lost_ahead = true;
	p = proctab_sampled(pt, pid, pid, t + 2000000000);
	assert_false(has_sleep(p));
	lost_ahead = false;
	/* Or it is still in a ring. */
	exec_ahead = true;
	p = proctab_sampled(pt, pid, pid, t + 3000000000);
	assert_false(has_sleep(p));
	exec_ahead = false;
	p = proctab_sampled(pt, pid, pid, t + 4000000000);
	assert_true(p->known);
	assert_true(has_sleep(p));
	assert_string_equal(p->comm, "sleep");
	/* No JIT map is too old for it. */
	assert_int_equal(p->facts->begun, 0);
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_true(got.proc[0].inherited);
	assert_false(got.proc[1].inherited);
	assert_int_equal(got.proc[1].pid, pid);
	assert_string_equal(got.comm[1], "sleep");
	assert_non_null(strstr(got.exe[1], "/sleep"));
	/* The first image has ended for the reader, too. */
	assert_int_equal(got.ntcomm, 1);
	assert_true(got.tcomm[0].exec);
}

/* Known, and it execs another program: the vdso is at another address. */
static void test_known(void **state)
{
	struct child c = start(becomes_sleep, NULL);
	const uint32_t pid = (uint32_t)c.pid;
	const uint64_t t = now();
	int random = 0;
	struct proc *p;
	FILE *f;

	(void)state;
	f = fopen("/proc/sys/kernel/randomize_va_space", "r");
	if (f) {
		assert_int_equal(fscanf(f, "%d", &random), 1);
		fclose(f);
	}
	if (!random) {
		print_message("# all vdsos are at one address here\n");
		stop_child(&c);
		skip();
	}
	look_ahead();
	p = proctab_sampled(pt, pid, pid, t);
	assert_true(p->known);
	/* Nothing has changed. */
	proctab_lost(pt);
	p = proctab_sampled(pt, pid, pid, t + 1000000000);
	begin_sleep(&c);
	p = proctab_sampled(pt, pid, pid, t + 2000000000);
	assert_false(has_sleep(p));
	proctab_lost(pt);
	p = proctab_sampled(pt, pid, pid, t + 3000000000);
	assert_true(has_sleep(p));
	assert_string_equal(p->comm, "sleep");
	assert_null(proc_maskset(p, pid, IP, 0x7ff000000000, 64));
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_int_equal(got.ntcomm, 1);
	assert_non_null(strstr(got.exe[1], "/sleep"));
	for (uint32_t i = 0; i < got.nmmap; i++)
		assert_false(got.mmap[i].nproc == 2 && strstr(got.mmap[i].path, "lostexec"));
}

/* The end of a process was lost, and the fork of another one with its pid. */
static void test_replaced(void **state)
{
	struct child c = start(becomes_sleep, NULL);
	const uint32_t pid = (uint32_t)c.pid;
	const uint64_t t = now();
	uint64_t start_ticks;
	uint32_t serial;
	struct proc *p;

	(void)state;
	look_ahead();
	p = proctab_sampled(pt, pid, pid, t);
	assert_true(p->known);
	serial = p->serial;
	start_ticks = p->facts->start_ticks;
	/* As if what we know were of a process that began a second earlier. */
	p->facts->start_ticks -= (uint64_t)sysconf(_SC_CLK_TCK);
	p->mnt_ns = 4711;
	p->ppid = 4712;
	p = proctab_sampled(pt, pid, pid, t + 1000000000);
	assert_int_equal(p->serial, serial);
	proctab_lost(pt);
	/* A sample from before the new one began is of the old one. */
	p = proctab_sampled(pt, pid, pid, 1);
	assert_int_equal(p->serial, serial);
	p = proctab_sampled(pt, pid, pid, t + 2000000000);
	assert_int_not_equal(p->serial, serial);
	assert_true(p->known);
	assert_int_equal(p->facts->start_ticks, start_ticks);
	assert_int_equal(p->ppid, getpid());
	assert_int_equal(p->mnt_ns, 0);
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_int_equal(got.ntcomm, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_forked),
		T(test_known),
		T(test_replaced),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
