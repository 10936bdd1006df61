/* Out-of-order side-band: forks that arrive after later records. */
#include "proctab_fixture.h"

#define PARENT GONE
#define CHILD (GONE + 1)

static void exec_at(uint32_t pid, const char *comm, uint64_t time)
{
	proctab_comm(pt, &(struct ev_comm){ .time = time, .pid = pid, .tid = pid, .exec = true, .comm = comm });
}

static void fork_at(uint32_t pid, uint32_t tid, uint32_t ppid, uint64_t time)
{
	proctab_fork(pt, &(struct ev_task){ .time = time, .pid = pid, .tid = tid, .ppid = ppid, .ptid = ppid });
}

static struct proc *shell_at(uint64_t time)
{
	struct kmmap m = with_id(kmmap(PARENT, 0x400000, 0x2000, "/bin/shell"), 7);

	exec_at(PARENT, "shell", time);
	proctab_mmap(pt, &m);
	return proctab_sampled(pt, PARENT, PARENT, time + 1);
}

/* After the child's exec: the child stays what it has become. */
static void test_after_exec(void **state)
{
	struct kmmap m = with_id(kmmap(CHILD, 0x800000, 0x2000, "/bin/program"), 8);
	struct proc *p;

	(void)state;
	shell_at(10);
	exec_at(CHILD, "program", 30);
	proctab_mmap(pt, &m);
	fork_at(CHILD, CHILD, PARENT, 20);
	p = proctab_sampled(pt, CHILD, CHILD, 40);
	assert_non_null(proc_maskset(p, CHILD, 0x800010, 0x7ff000000000, 64));
	assert_null(proc_maskset(p, CHILD, 0x400010, 0x7ff000000000, 64));
	/* The next process with that PID is a different one. */
	fork_at(CHILD, CHILD, PARENT, 50);
	p = proctab_sampled(pt, CHILD, CHILD, 60);
	assert_non_null(proc_maskset(p, CHILD, 0x400010, 0x7ff000000000, 64));
	read_back();
	assert_int_equal(got.nproc, 3);
	assert_string_equal(got.comm[1], "program");
	assert_false(got.proc[1].inherited);
	assert_int_equal(got.proc[1].ppid, PARENT);
	assert_string_equal(got.comm[2], "shell");
	assert_true(got.proc[2].inherited);
	/* The reader, too, would treat it as a new process. */
	assert_int_equal(got.nfork, 1);
}

/* And after a sample of it. */
static void test_after_sample(void **state)
{
	struct kmmap m = with_id(kmmap(CHILD, 0x800000, 0x2000, "/bin/program"), 8);
	struct proc *p;

	(void)state;
	shell_at(10);
	exec_at(CHILD, "program", 30);
	proctab_mmap(pt, &m);
	proctab_sampled(pt, CHILD, CHILD, 40);
	fork_at(CHILD, CHILD, PARENT, 20);
	p = proctab_sampled(pt, CHILD, CHILD, 41);
	assert_non_null(proc_maskset(p, CHILD, 0x800010, 0x7ff000000000, 64));
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_int_equal(got.nfork, 0);
}

/* After an exec of the parent: the child never ran the parent's new program. */
static void test_after_exec_of_parent(void **state)
{
	struct kmmap m = with_id(kmmap(PARENT, 0x800000, 0x2000, "/bin/program"), 8);
	struct proc *p;

	(void)state;
	shell_at(10);
	exec_at(PARENT, "program", 30);
	proctab_mmap(pt, &m);
	fork_at(CHILD, CHILD, PARENT, 20);
	p = proctab_sampled(pt, CHILD, CHILD, 40);
	assert_null(proc_maskset(p, CHILD, 0x800010, 0x7ff000000000, 64));
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_string_equal(got.comm[1], "");
	assert_false(got.proc[1].maps_known);
}

/* A thread that has named itself by then, and one that has its process's name until then. */
static void test_threads(void **state)
{
	(void)state;
	shell_at(10);
	proctab_comm(pt, &(struct ev_comm){ .time = 30, .pid = PARENT, .tid = PARENT + 5, .comm = "worker" });
	fork_at(PARENT, PARENT + 5, PARENT, 20);
	proctab_sampled(pt, PARENT, PARENT + 5, 40);
	fork_at(PARENT, PARENT + 6, PARENT, 50);
	proctab_sampled(pt, PARENT, PARENT + 6, 60);
	/* The TID belongs to another thread. */
	fork_at(PARENT, PARENT + 5, PARENT, 70);
	proctab_sampled(pt, PARENT, PARENT + 5, 80);
	read_back();
	assert_int_equal(got.nfork, 2);
	assert_int_equal(got.ntcomm, 3);
	assert_string_equal(got.tcomm_text[0], "worker");
	assert_string_equal(got.tcomm_text[1], "shell");
	assert_int_equal(got.tcomm[1].tid, PARENT + 6);
	assert_string_equal(got.tcomm_text[2], "shell");
	assert_int_equal(got.tcomm[2].tid, PARENT + 5);
}

/* A thread of the program before. */
static void test_thread_of_the_past(void **state)
{
	(void)state;
	shell_at(10);
	exec_at(PARENT, "program", 30);
	proctab_sampled(pt, PARENT, PARENT, 40);
	fork_at(PARENT, PARENT + 5, PARENT, 20);
	read_back();
	assert_int_equal(got.nfork, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_after_exec),
		T(test_after_sample),
		T(test_after_exec_of_parent),
		T(test_threads),
		T(test_thread_of_the_past),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
