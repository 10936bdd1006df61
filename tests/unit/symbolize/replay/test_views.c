/* Conditions, names of threads and files, runtimes' helper processes, and what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/threadname.h"
#include "naming/filter_hint.h"
#include "output/split_by.h"
#include "replay/filtered_out.h"
#include "replay/replay.h"
#include "replay/runtime_helpers.h"
#include "replay/sample_filter.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define S 1000000000ull

/* ---- conditions ---- */

static void test_good_conditions(void **state)
{
	struct filter f = { 0 };

	(void)state;
	assert_int_equal(filter_add(&f, "comm=a b,c pid=7,time=1.25-2 nspid=1"), 0);
	assert_int_equal(f.n, 4);
	assert_int_equal(f.conds[0].key, FILTER_COMM);
	/* A separator stands between two conditions; otherwise it belongs to a value. */
	assert_string_equal(f.conds[0].text, "a b,c");
	assert_int_equal(f.conds[1].key, FILTER_PID);
	assert_int_equal(f.conds[1].from, 7);
	assert_int_equal(f.conds[1].to, 8);
	assert_int_equal(f.conds[2].key, FILTER_TIME);
	assert_int_equal(f.conds[2].from, S * 5 / 4);
	assert_int_equal(f.conds[2].to, 2 * S);
	assert_int_equal(f.conds[3].key, FILTER_NSPID);
	assert_int_equal(filter_add(&f, "time=3-"), 0);
	assert_int_equal(f.conds[4].from, 3 * S);
	assert_true(f.conds[4].to == UINT64_MAX);
	assert_int_equal(filter_add(&f, "time=-.5"), -22);
	assert_int_equal(filter_add(&f, "time=-0.000000001"), 0);
	assert_int_equal(f.conds[6].from, 0);
	assert_int_equal(f.conds[6].to, 1);
	/* More decimals than nanoseconds have. */
	assert_int_equal(filter_add(&f, "time=0.1234567899-1"), 0);
	assert_int_equal(f.conds[7].from, 123456789);
	assert_int_equal(filter_add(&f, "tid=4294967295"), 0);
	assert_int_equal(filter_add(&f, "container=*"), 0);
	assert_int_equal(filter_add(&f, "cgroup=/a=b"), 0);
	assert_string_equal(f.conds[10].text, "/a=b");
	filter_fini(&f);
}

static void test_bad_conditions(void **state)
{
	static const char *const bad[] = {
		"", "comm", "=x", "colour=red", "comm=", "pid=", "pid=x", "pid=-1", "pid=1x", "pid= 1", "pid=+1", "pid=1-2",
		"pid=4294967296", "pid=99999999999999999999", "tid=", "nspid=a", "time=", "time=1", "time=-", "time=2-1", "time=1-1",
		"time=1--2", "time=a-b", "time=1-2x", "time=1e3-", "time=0x1-", "time=1.-x", "time=1-2-3", "time= 1-2", "time=nan-",
		"time=99999999999999999999-", " comm=x", "comm=x,pid=y", ",comm=x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct filter f = { 0 };

		if (filter_add(&f, bad[i]) != -22)
			fail_msg("'%s' was taken", bad[i]);
		filter_fini(&f);
	}
}

struct who {
	const char *conds;
	enum filter_key misses;	/* FILTER_KEYS: kept */
};

static void test_matching(void **state)
{
	/* In process 40 (3 in its container), thread 41, at 2 s. */
	static const struct who table[] = {
		{ "container=0123456789ab", FILTER_KEYS },
		{ "container=0123*", FILTER_KEYS },
		{ "container=0123", FILTER_CONTAINER },
		{ "container=host", FILTER_CONTAINER },
		{ "cgroup=/docker/*", FILTER_KEYS },
		{ "cgroup=*cdef", FILTER_KEYS },
		{ "cgroup=/doc", FILTER_CGROUP },
		/* As a glob, and literally: as a glob, '[' starts a character class. */
		{ "comm=runc:[2:INIT]", FILTER_KEYS },
		{ "comm=runc:?2:INIT?", FILTER_KEYS },
		{ "comm=RUNC*", FILTER_COMM },
		{ "pid=40", FILTER_KEYS },
		{ "pid=41", FILTER_PID },
		{ "tid=41", FILTER_KEYS },
		{ "tid=40", FILTER_TID },
		{ "nspid=3", FILTER_KEYS },
		{ "nspid=40", FILTER_NSPID },
		{ "nspid=17", FILTER_NSPID },
		/*
		 * One key: any of its values; several keys: all of them, and the first one that
		 * does not match counts.
		 */
		{ "pid=1,pid=40", FILTER_KEYS },
		{ "comm=x,comm=r*", FILTER_KEYS },
		{ "comm=r*,pid=1", FILTER_PID },
		{ "tid=1,pid=1,comm=x", FILTER_COMM },
		{ "time=2-3", FILTER_KEYS },
		{ "time=1-2", FILTER_TIME },
		{ "time=-2", FILTER_TIME },
		{ "time=2-", FILTER_KEYS },
		{ "time=2.000000001-", FILTER_TIME },
		{ "time=0-1,time=1.9-2.1", FILTER_KEYS },
		{ "time=0-1,pid=1", FILTER_PID },
	};
	struct image img = { .nspid = { 40, 17, 3 }, .nspid_n = 3, .comm = "", .exe = "", .cgroup = "" };
	const struct ev_sample ev = { .time = 7 * S, .pid = 40, .tid = 41 };
	const struct replay_sample s = { .ev = &ev, .img = &img, .comm = "runc:[2:INIT]", .cgroup = "/docker/" ID,
					  .container = "" };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct filter f = { .start = 5 * S };
		enum filter_key misses;

		assert_int_equal(filter_add(&f, table[i].conds), 0);
		misses = filter_misses_thread(&f, &s);
		if (misses == FILTER_TIME && filter_meets(&f, FILTER_TIME, &s))
			misses = FILTER_KEYS;
		if (misses != table[i].misses)
			fail_msg("%s: %d", table[i].conds, (int)misses);
		filter_fini(&f);
	}
}

/* Parts of the time from the first sample to the last, as in perf-script(1). */
static void test_shares(void **state)
{
	static const struct {
		const char *text;
		unsigned int from, to;	/* in tenths of the time; 11: including its end */
	} table[] = {
		{ "10%", 0, 1 }, { "10%/1", 0, 1 }, { "10%/2", 1, 2 }, { "10%/10", 9, 11 }, { "50%/2", 5, 11 }, { "30%-70.0%", 3, 7 },
		{ "0%-100%", 0, 11 }, { "100%", 0, 11 },
	};
	static const char *const bad[] = {
		"%", "0%", "10%/0", "10%/11", "10%/", "10%/-1", "10%x", "10%,", "20%-10%", "20%-101%", "20%-30", "10%,1", "101%",
		"34%/3", "5%/99999999999999999999", "99999999999999999999%",
	};
	const uint64_t first = 5 * S, last = 25 * S, all = 20 * S, start = 4 * S;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct filter f = { 0 };

		assert_int_equal(filter_add_span(&f, table[i].text), 0);
		assert_true(filter_has_shares(&f));
		filter_place(&f, first, last);
		assert_false(filter_has_shares(&f));
		filter_begin(&f, start);
		for (unsigned int k = 0; k < 10; k++) {
			const uint64_t t = first + all / 10 * k - start;
			const bool in = k >= table[i].from && k < table[i].to;

			assert_int_equal(filter_accepts(&f, FILTER_TIME, NULL, t), in);
			assert_int_equal(filter_accepts(&f, FILTER_TIME, NULL, t + all / 10 - 1), in);
		}
		assert_int_equal(filter_accepts(&f, FILTER_TIME, NULL, last - start), table[i].to == 11);
		filter_fini(&f);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct filter f = { 0 };

		assert_int_equal(filter_add_span(&f, bad[i]), -22);
		filter_fini(&f);
	}
}

/* With several, any of them. */
static void test_several_shares(void **state)
{
	struct filter f = { 0 };

	(void)state;
	assert_int_equal(filter_add_span(&f, "0%-20%,80%-100%"), 0);
	filter_place(&f, 100, 200);
	filter_begin(&f, 100);
	assert_true(filter_accepts(&f, FILTER_TIME, NULL, 0));
	assert_true(filter_accepts(&f, FILTER_TIME, NULL, 19));
	assert_false(filter_accepts(&f, FILTER_TIME, NULL, 20));
	assert_false(filter_accepts(&f, FILTER_TIME, NULL, 79));
	assert_true(filter_accepts(&f, FILTER_TIME, NULL, 80));
	assert_true(filter_accepts(&f, FILTER_TIME, NULL, 100));
	filter_fini(&f);
}

static void test_distance(void **state)
{
	(void)state;
	assert_int_equal(filter_hint_distance("web", "webserver"), 0);
	assert_int_equal(filter_hint_distance("WEB*", "my-webserver"), 0);
	assert_int_equal(filter_hint_distance("ngnix", "nginx"), 2);
	assert_int_equal(filter_hint_distance("kitten", "sitting"), 3);
	assert_int_equal(filter_hint_distance("abc", ""), 3);
	assert_int_equal(filter_hint_distance("", "abc"), 0);
}

/* ---- names ---- */

static void check_thread(const char *name, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	if (!want)
		assert_false(threadname_merge(name, &sb));
	else if (!threadname_merge(name, &sb) || strcmp(sb.s, want))
		fail_msg("%s: %s, not %s", name, sb.s, want);
	strbuf_fini(&sb);
}

static void test_thread_names(void **state)
{
	(void)state;
	check_thread("worker-12", "worker-N");
	check_thread("worker12", "workerN");
	check_thread("pool-3-thread-1", "pool-N-thread-N");
	check_thread("GC Thread#0", "GC Thread#N");
	check_thread("kworker/u8:3-ev", "kworker/u8:N-ev");
	check_thread("kworker/0:1H", "kworker/N:NH");
	check_thread("a.b.7", "a.b.N");
	check_thread("x007", "xN");
	/* A digit inside a word is part of it. */
	check_thread("C2 CompilerThre", NULL);
	check_thread("h2o", NULL);
	check_thread("worker", NULL);
	check_thread("3d", NULL);
	/* Nothing would be left. */
	check_thread("12", NULL);
	check_thread("1-2", NULL);
	check_thread("#5", NULL);
	check_thread("", NULL);
	/* UTF-8 bytes count as letters. */
	check_thread("\xc3\xa4" "2b", NULL);
	check_thread("\xc3\xa4" "2", "\xc3\xa4N");
}

static void test_file_names(void **state)
{
	static const struct {
		const char *label, *want;
	} table[] = {
		{ "nginx", "nginx.folded" },
		{ "nginx-4711/4713", "nginx-4711_4713.folded" },
		{ "../../etc/passwd", "etc_passwd.folded" },
		{ "/user.slice/a b", "user.slice_a_b.folded" },
		{ ".hidden", "hidden.folded" },
		{ "-rf", "rf.folded" },
		{ "..", "_.folded" },
		{ "/", "_-2.folded" },
		{ "", "_-3.folded" },
		{ "a/b", "a_b.folded" },
		{ "a b", "a_b-2.folded" },
		{ "a_b-2", "a_b-2-2.folded" },
		{ "a\nb", "a_b-3.folded" },
		/* A new label, but an earlier file already got this name. */
		{ "a_b-3", "a_b-3-2.folded" },
		{ "\xe2\x80\xae" "evil", "evil.folded" },
		{ "nginx.folded", "nginx.folded.folded" },
		{ "[running]", "running.folded" },
		{ "[no cgroup]", "no_cgroup.folded" },
		/* Names that need no change come first in fold_write_split(). */
		{ "blocked", "blocked.folded" },
		{ "[blocked]", "blocked-2.folded" },
		{ "running_", "running_.folded" },
		{ "[x]y", "x_y.folded" },
		{ "[]", "_-4.folded" },
	};
	struct strbuf sb = STRBUF_INIT;
	struct split_names sn;
	char longer[5000], other[124];

	(void)state;
	split_names_init(&sn);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		split_name(&sn, table[i].label, &sb);
		assert_string_equal(sb.s, table[i].want);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	longer[0] = '/';
	for (unsigned int i = 1; i < 20000; i++) {
		split_name(&sn, longer, &sb);
		assert_true(sb.len <= 140);
	}
	/* The names that were shortened above may include this one. */
	memset(other, 'x', 120);
	strcpy(other + 120, "-9");
	split_name(&sn, other, &sb);
	assert_true(sb.len <= 140 && strncmp(sb.s, "xx", 2) == 0);
	split_names_fini(&sn);
	strbuf_fini(&sb);
}

/* ---- helpers of runtimes ---- */

static void check_helper(bool want, const char *exe, const char *comm, uint32_t nspids, uint32_t innermost)
{
	struct mapping map = { .path = exe };
	struct addrspace none = { .n = 0 }, one = { .maps = &map, .n = 1 };
	struct image parent = { .exe = exe, .comm = "runc", .cgroup = "", .as = &none };
	struct image img = { .as = &none, .exe = exe, .comm = comm, .cgroup = "", .nspid = { 500, 20 }, .nspid_n = nspids };

	if (nspids)
		img.nspid[nspids - 1] = innermost;
	if (runtime_is_helper(&img) != want)
		fail_msg("%s, %s", exe, comm);
	/* Forked, without facts yet. */
	img.exe = "";
	img.parent = &parent;
	if (runtime_is_helper(&img) != want)
		fail_msg("%s, %s, by its parent", exe, comm);
	/* /proc's path was read after the exec of the next program. */
	img.exe = "/app/server";
	img.as = &one;
	if (runtime_is_helper(&img) != (want && (!strcmp(exe, "/") || strstr(exe, "memfd"))))
		fail_msg("%s, %s, by what is mapped", exe, comm);
	img.exe = "";
	img.as = &none;
	/* An unknown process. */
	img.parent = NULL;
	assert_false(runtime_is_helper(&img));
}

static void test_helpers(void **state)
{
	(void)state;
	/* runc 1.1.5 as recorded: from outside, then from a bind mount that has been removed. */
	check_helper(true, "/usr/sbin/runc", "exe", 1, 500);
	check_helper(true, "/", "runc:[0:PARENT]", 1, 500);
	check_helper(true, "/", "runc:[1:CHILD]", 1, 500);
	check_helper(true, "/", "runc:[2:INIT]", 2, 1);
	check_helper(true, "/memfd:runc_cloned:/proc/self/exe (deleted)", "runc:[2:INIT]", 2, 7);
	/* Executed by file descriptor, before and since Linux 6.14. */
	check_helper(true, "/", "6", 1, 500);
	check_helper(true, "/memfd:runc_cloned:/proc/self/exe (deleted)", "6", 1, 500);
	check_helper(true, "/memfd:runc_cloned:/proc/self/exe (deleted)", "memfd:runc_clon", 1, 500);
	check_helper(true, "/usr/bin/runc (deleted)", "runc:[2:INIT]", 2, 1);
	/* crun 1.8.1 as recorded. */
	check_helper(true, "/usr/bin/crun", "crun", 1, 500);
	check_helper(true, "/", "crun", 2, 1);
	check_helper(true, "/usr/bin/conmon", "conmon", 1, 500);
	check_helper(true, "/usr/bin/systemd-nspawn", "systemd-nspawn", 1, 500);
	check_helper(true, "/pause", "pause", 2, 1);
	check_helper(true, "/sbin/docker-init", "docker-init", 2, 1);
	/* Gone before anyone looked. */
	check_helper(true, "/usr/sbin/runc", "exe", 0, 0);
	check_helper(true, "/usr/bin/crun", "crun", 0, 0);
	check_helper(false, "/app/server", "exe", 0, 0);
	/* A name alone makes no process a helper. */
	check_helper(false, "/app/server", "runc:[2:INIT]", 2, 1);
	check_helper(false, "/app/server", "pause", 2, 1);
	check_helper(false, "/app/server", "conmon", 1, 500);
	check_helper(false, "/app/server", "exe", 2, 1);
	/* docker in docker, a program called pause, and a pause that is not PID 1. */
	check_helper(false, "/usr/sbin/runc", "runc", 2, 12);
	check_helper(false, "/usr/bin/conmon", "conmon", 2, 12);
	check_helper(false, "/usr/bin/pause", "pause", 2, 1);
	check_helper(false, "/pause", "pause", 2, 9);
	check_helper(false, "/usr/sbin/runc-exporter", "runc-exporter", 1, 500);
	check_helper(false, "/memfd:jit (deleted)", "exe", 2, 1);
	check_helper(false, "/app/7", "7", 2, 1);
	check_helper(false, "/memfd:jit (deleted)", "memfd:jit", 2, 1);
}

/* ---- what is left out ---- */

static void test_leftout(void **state)
{
	struct filtered_out a = { 0 }, b = { 0 };
	struct u64map tids = U64MAP_INIT;

	(void)state;
	/* Skipped, next to stacks none of which is deep. */
	filtered_out_note(&a, 1, 1, LEFTOUT_SEEN);
	filtered_out_note(&a, 1, 2, LEFTOUT_SKIPPED);
	assert_false(filtered_out_matters(&a, &tids));
	/* Deep stacks of a process all of whose samples were used. */
	filtered_out_note(&b, 5, 5, LEFTOUT_DEEP);
	filtered_out_note(&b, 5, 6, LEFTOUT_SEEN);
	filtered_out_add(&a, &b);
	assert_false(filtered_out_matters(&a, &tids));
	/* Another process had its PID before. */
	filtered_out_note(&a, 9, 6, LEFTOUT_SKIPPED);
	u64map_clear(&tids);
	assert_true(filtered_out_matters(&a, &tids));
	assert_int_equal(tids.n, 2);
	assert_non_null(u64map_get(&tids, 5));
	assert_non_null(u64map_get(&tids, 6));
	u64map_fini(&tids);
	filtered_out_fini(&a);
	filtered_out_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_conditions),
		cmocka_unit_test(test_bad_conditions),
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_several_shares),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_thread_names),
		cmocka_unit_test(test_file_names),
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_leftout),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
