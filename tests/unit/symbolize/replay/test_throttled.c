/*
 * Which preempted threads a CPU limit held back: by their stacks, and by the counters of the cgroups
 * that their samples were taken in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "collectrun.h"
#include "output/to_folded.h"
#include "recgen.h"
#include "recording/rec_writer.h"
#include "unwind/unwind.h"

#define START UINT64_C(1000000)
#define PID 100u
#define KERNEL "exit_to_user_mode_loop;task_work_run;"

/* Kernel functions, 0x100 bytes each. */
enum { LOOP, WORK, RESCHED, THROTTLE, SCHEDULE, FUNCTIONS };
static const char kallsyms[] = "ffffffff81000000 T exit_to_user_mode_loop\nffffffff81000100 T task_work_run\n"
			       "ffffffff81000200 T __cond_resched\nffffffff81000300 T throttle_cfs_rq_work\n"
			       "ffffffff81000400 T schedule\nffffffff81000500 T behind\n";

/* Every process is in "/", as far as its facts go. */
static const struct {
	uint64_t cgroup;	/* of its samples; 0: they do not have it */
	const char *path;
	bool certain;		/* it leaves the CPU in throttle_cfs_rq_work */
	const char *state;
} threads[] = {
	{ 7, "/limited", false, "[throttled]" },
	{ 8, "/limited/inner/deep", false, "[throttled]" },
	{ 9, "/free", false, "[runnable]" },
	{ 9, "/free", true, "[throttled]" },
	{ 10, "/limits", false, "[runnable]" },
	{ 0, "", false, "[runnable]" },
	{ 0, "", true, "[throttled]" },
};

static void counters(struct rec_writer *w, uint64_t time, const char *path, uint64_t throttled)
{
	const struct ev_container ev = {
		.time = time, .node = 7, .cgroup = path, .runtime = "", .id = "", .name = "", .image = "", .pod = "", .pod_ns = "",
		.pod_uid = "", .have_throttling = true, .quota_us = 1, .period_us = 2, .nr_periods = 50, .nr_throttled = throttled,
		.throttled_us = 10 * throttled,
	};

	assert_int_equal(rec_writer_container(w, &ev), 0);
}

/* It runs from @time on, is off the CPU for @ns, 50 us later, and runs again. */
static void live(struct rec_writer *w, uint32_t tid, uint64_t time, uint64_t ns, uint64_t cgroup, bool certain)
{
	const uint64_t base = 0xffffffff81000008;
	const uint64_t after[] = { (uint64_t)PERF_CONTEXT_KERNEL, base + RESCHED * 0x100, base + WORK * 0x100, base + LOOP * 0x100 };
	const uint64_t within[] = { (uint64_t)PERF_CONTEXT_KERNEL, base + SCHEDULE * 0x100, base + THROTTLE * 0x100,
				    base + WORK * 0x100, base + LOOP * 0x100 };
	const struct sample_in s = {
		.time = time + 49000, .pid = PID, .tid = tid, .period = 1, .cgroup = cgroup, .chain = certain ? within : after,
		.nchain = certain ? ARRAY_SIZE(within) : ARRAY_SIZE(after),
	};
	struct ev_switch sw = { .time = time, .pid = PID, .tid = tid };

	assert_int_equal(rec_writer_schedstat(w, &(struct ev_schedstat){ .time = time, .pid = PID, .tid = tid }), 0);
	assert_int_equal(rec_writer_switch(w, &sw), 0);
	assert_int_equal(rec_writer_sample(w, &s), 0);
	sw.time += 50000;
	sw.out = sw.preempted = true;
	assert_int_equal(rec_writer_switch(w, &sw), 0);
	sw.time += ns;
	sw.out = sw.preempted = false;
	assert_int_equal(rec_writer_switch(w, &sw), 0);
}

static uint64_t wait_of(size_t i)
{
	return 1000000 * (i + 1);
}

static void write_recording(int fd)
{
	const struct capture ksyms = { CAPTURE_KALLSYMS, 0, kallsyms, sizeof(kallsyms) - 1, 0 };
	const struct ev_event event = {
		.role = ROLE_WAITS, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .period = 1, .name = "off-cpu",
		.modifier = "", .unit = "ns", .filter = "", .fields = "",
	};
	const struct ev_proc proc = {
		.time = START, .serial = 1, .pid = PID, .ppid = 1, .start_ticks = 1, .comm = "made", .exe = "/bin/x", .root = "/",
		.cgroup = "/", .maps_known = true,
	};
	const struct ev_ledger led = { 0 };
	uint64_t time = START + 1000;
	struct rec_writer *w;
	int err;

	w = rec_writer_new_at(fd, START, 1, true, &err);
	assert_non_null(w);
	assert_int_equal(rec_writer_event(w, &event), 0);
	assert_int_equal(rec_writer_proc(w, &proc), 0);
	counters(w, time, "/limited", 5);
	counters(w, time, "/free", 5);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++, time += 20000000) {
		if (threads[i].cgroup)
			assert_int_equal(rec_writer_cgroup(w, &(struct ev_cgroup){ .id = threads[i].cgroup, .path = threads[i].path }), 0);
		live(w, PID + 1 + (uint32_t)i, time, wait_of(i), threads[i].cgroup, threads[i].certain);
	}
	counters(w, time, "/limited", 6);
	counters(w, time, "/free", 5);
	assert_int_equal(rec_writer_capture(w, &ksyms), 0);
	assert_int_equal(rec_writer_ledger(w, &led), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
}

/* Folded text with ns, by thread. Owned. */
static char *folded(const char *path, unsigned int nthreads, bool throttles)
{
	static const struct naming_opts nopts = { .demangle = true };
	struct collect_run run;
	struct collect_opts copts = {
		.lead = { .by = { LEAD_THREAD }, .n = 1 }, .unwinder = &unwind_cached, .max_stack = 100, .events = &run.events,
		.throttles = throttles,
	};
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	collect_run_open(&run, path);
	copts.start = rec_reader_start(run.r);
	collect_run_all(&run, &copts, nthreads, &nopts);
	fold_write(to, &run.col.tree, &run.nm, FOLD_PERIOD);
	fclose(to);
	collect_run_close(&run);
	return text;
}

static void check(const char *path, unsigned int nthreads, bool throttles)
{
	char want[2048] = "", *got = folded(path, nthreads, throttles);

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "made-%u/%u;" KERNEL "%s;%s %llu\n", PID, PID + 1 + (unsigned int)i,
			 threads[i].certain ? "throttle_cfs_rq_work;schedule" : "__cond_resched", throttles ? threads[i].state : "[runnable]",
			 (unsigned long long)wait_of(i));
	assert_string_equal(got, want);
	free(got);
}

/* Also before Linux 6.18, where such stacks tell nothing. */
static void test_states(void **state)
{
	char path[32];
	int fd = gen_memfd(path);

	(void)state;
	write_recording(fd);
	for (unsigned int nthreads = 1; nthreads <= 2; nthreads++) {
		check(path, nthreads, true);
		check(path, nthreads, false);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
