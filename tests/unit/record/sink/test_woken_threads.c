/* Which of a host's wake-ups are written, and where among the switches and samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "event.h"
#include "recording/rec_reader.h"
#include "sink/sink.h"
#include "sink/sink_wakeups.h"

#define PID_AT 24u	/* of the field in the payload, as in Linux 6.1: after the name */

static void test_threads(void **state)
{
	struct woken_threads t = { .threads = U64MAP_INIT };
	uint32_t pid = 0;

	(void)state;
	assert_false(woken_threads_wake(&t, 8, &pid));	/* of somebody else */
	woken_threads_found(&t, 7, 8);
	assert_true(woken_threads_wake(&t, 8, &pid));
	assert_int_equal(pid, 7);
	assert_false(woken_threads_wake(&t, 8, &pid));	/* it may run on a CPU that is not recorded */
	woken_threads_switch(&t, &(struct ev_switch){ .pid = 7, .tid = 8 });
	assert_true(woken_threads_wake(&t, 8, &pid));	/* it is about to sleep */
	woken_threads_switch(&t, &(struct ev_switch){ .pid = 7, .tid = 8, .out = true });
	woken_threads_found(&t, 7, 8);
	assert_true(woken_threads_wake(&t, 8, &pid));
	assert_false(woken_threads_wake(&t, 8, &pid));
	woken_threads_switch(&t, &(struct ev_switch){ .pid = 7, .tid = 8, .out = true, .preempted = true });
	assert_false(woken_threads_wake(&t, 8, &pid));
	/* After its exit it leaves for good. Then the number is another thread's. */
	woken_threads_exit(&t, 8);
	assert_false(woken_threads_wake(&t, 8, &pid));
	woken_threads_switch(&t, &(struct ev_switch){ .pid = 7, .tid = 8, .out = true });
	assert_false(woken_threads_wake(&t, 8, &pid));
	assert_int_equal(t.threads.n, 0);
	woken_threads_switch(&t, &(struct ev_switch){ .pid = 9, .tid = 8 });
	assert_true(woken_threads_wake(&t, 8, &pid));
	assert_int_equal(pid, 9);
	woken_threads_fini(&t);
}

/* Threads that end take no room for good, and never more than the limit. */
static void test_many(void **state)
{
	struct woken_threads t = { .threads = U64MAP_INIT };
	uint32_t pid;

	(void)state;
	woken_threads_switch(&t, &(struct ev_switch){ .pid = 1, .tid = 1, .out = true });
	for (uint32_t i = 2; i < 3 * WOKEN_THREADS_MAX; i++) {
		woken_threads_switch(&t, &(struct ev_switch){ .pid = 2, .tid = i });
		woken_threads_exit(&t, i);
		assert_true(t.threads.n <= WOKEN_THREADS_MAX);
	}
	assert_true(woken_threads_wake(&t, 1, &pid));
	for (uint32_t i = 2; i < 3 * WOKEN_THREADS_MAX; i++) {
		woken_threads_switch(&t, &(struct ev_switch){ .pid = 2, .tid = i });
		assert_true(t.threads.n <= WOKEN_THREADS_MAX);
	}
	woken_threads_fini(&t);
}

/* PERF_RECORD_SWITCH with the id fields of perf_event_open(2). */
static void switched(struct sink *s, uint64_t time, uint32_t tid, bool out)
{
	uint64_t rec[5] = { 0 };
	struct perf_event_header *h = (void *)rec;

	*h = (struct perf_event_header){ .type = PERF_RECORD_SWITCH, .misc = out ? PERF_RECORD_MISC_SWITCH_OUT : 0, .size = sizeof(rec) };
	rec[1] = 7 | (uint64_t)tid << 32;
	rec[2] = time;
	sink_record(s, h, time, NULL, false);
}

/* PERF_RECORD_SAMPLE of sched_waking: @size bytes of payload. */
static void woken(struct sink *s, uint64_t time, uint32_t tid, uint32_t cpu, uint32_t size)
{
	uint64_t rec[16] = { 0 };
	struct perf_event_header *h = (void *)rec;
	uint8_t *payload = (uint8_t *)&rec[6] + 4;

	*h = (struct perf_event_header){ .type = PERF_RECORD_SAMPLE, .size = (uint16_t)(52 + size) };
	rec[4] = time;
	rec[5] = cpu;
	memcpy(&rec[6], &size, sizeof(size));
	memcpy(payload + PID_AT, &tid, sizeof(tid));
	sink_wakeups_take(s, h, time);
}

static int say_switch(void *ctx, const struct ev_switch *ev)
{
	strbuf_addf(ctx, "%s%lu ", ev->out ? "out" : "in", (unsigned long)ev->time);
	return 0;
}

static int say_wakeup(void *ctx, const struct ev_wakeup *ev)
{
	strbuf_addf(ctx, "wake%lu:%u/%u@%u ", (unsigned long)ev->time, ev->pid, ev->tid, ev->cpu);
	return 0;
}

static void test_records(void **state)
{
	const struct event_ops ops = { .cpu_switch = say_switch, .wakeup = say_wakeup };
	const struct ev_event waits = { .role = ROLE_WAITS, .name = "off-cpu", .modifier = "", .unit = "ns", .filter = "", .fields = "" };
	struct record_opts o = { .callgraph = CALLGRAPH_NONE, .wakeups = true };
	struct cgroup_fs fs = { .fd = -1 };
	char path[] = "/tmp/nsprof-test-woken.XXXXXX";
	const int fd = mkstemp(path);
	struct strbuf said = STRBUF_INIT;
	struct ledger ledger = { 0 };
	struct rec_reader *r;
	struct rec_writer *w;
	struct proctab *pt;
	struct sink *s;
	int err;

	(void)state;
	assert_true(fd >= 0);
	w = rec_writer_new_events(fd, &err);
	assert_non_null(w);
	assert_int_equal(rec_writer_event(w, &waits), 0);
	pt = proctab_new(w);
	s = sink_new(&o, &fs, pt, w, &ledger, 0);
	s->woken_at = PID_AT;
	switched(s, 10, 8, true);
	woken(s, 20, 9, 1, 36);		/* not of the target */
	woken(s, 30, 8, 1, 36);
	woken(s, 40, 8, 0, 36);		/* it is awake */
	switched(s, 50, 8, false);
	switched(s, 60, 8, true);
	woken(s, 70, 8, 1, PID_AT + 3);	/* the number is not whole */
	woken(s, 80, 8, 0, 36);
	switched(s, 90, 8, false);
	/* PERF_RECORD_LOST: id, number */
	sink_wakeups_take(s, (void *)(uint64_t[]){ PERF_RECORD_LOST | (uint64_t)(8 + 16 + 32) << 48, 1, 12, 0, 0, 0, 0 }, 95);
	assert_int_equal(s->err, 0);
	assert_int_equal(ledger.l.wakeups, 2);
	assert_int_equal(ledger.wakeups_told, 12);
	sink_finish(s);
	rec_writer_finish(w);
	sink_free(s);
	proctab_free(pt);
	ledger_fini(&ledger);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &said), 0);
	assert_string_equal(said.s, "out10 wake30:7/8@1 in50 out60 wake80:7/8@0 in90 ");
	assert_true(rec_reader_misses_wakeups(r));	/* without a ledger, nobody knows */
	rec_reader_close(r);
	strbuf_fini(&said);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), cmocka_unit_test(test_many), cmocka_unit_test(test_records),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
