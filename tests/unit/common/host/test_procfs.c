/* /proc parsers: lines as kernels print them, and lines made to mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/procfs.h"

struct seen_maps {
	struct proc_map m[16];
	char path[16][128];
	size_t n;
	int stop_at;
	int ret;
};

static int note_map(void *ctx, const struct proc_map *m)
{
	struct seen_maps *s = ctx;

	assert_true(s->n < 16);
	s->m[s->n] = *m;
	snprintf(s->path[s->n], sizeof(s->path[0]), "%s", m->path);
	s->n++;
	return (int)s->n == s->stop_at ? s->ret : 0;
}

static void test_maps(void **state)
{
	char text[] =
		"00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n"
		"7f5c8e200000-7f5c8e228000 r-xp 00028000 fe:00 1234                      "
		"/usr/lib/x y.so (deleted)\n"
		"7ffd1000-7ffd2000 rw-s 00000000 00:00 0 \n"
		"7ffd2000-7ffd3000 ---p 00000000 00:00 0\n"
		"7ffc6cd0b000-7ffc6cd2c000 rw-p 00000000 00:00 0                          [stack]\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:01 5 /memfd:a\\012b\\040c (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		"[vsyscall]\n"
		"7e0000000000-7e0000001000 r-xp 00000000 103:0a 18446744073709551 /a (deleted) "
		"(deleted)";
	struct seen_maps s = { .n = 0 };

	(void)state;
	assert_int_equal(procfs_maps(text, note_map, &s), 0);
	assert_int_equal(s.n, 8);
	assert_int_equal(s.m[0].start, 0x400000);
	assert_int_equal(s.m[0].end, 0x452000);
	assert_int_equal(s.m[0].prot, PROT_READ | PROT_EXEC);
	assert_int_equal(s.m[0].dev_major, 8);
	assert_int_equal(s.m[0].dev_minor, 2);
	assert_int_equal(s.m[0].ino, 173521);
	assert_false(s.m[0].deleted);
	assert_string_equal(s.path[0], "/usr/bin/dbus-daemon");
	assert_int_equal(s.m[1].pgoff, 0x28000);
	assert_int_equal(s.m[1].dev_major, 0xfe);
	assert_true(s.m[1].deleted);
	assert_string_equal(s.path[1], "/usr/lib/x y.so");
	assert_string_equal(s.path[2], "");
	assert_true(s.m[2].shared);
	assert_int_equal(s.m[2].prot, PROT_READ | PROT_WRITE);
	assert_string_equal(s.path[3], "");
	assert_int_equal(s.m[3].prot, 0);
	assert_string_equal(s.path[4], "[stack]");
	/* The kernel escapes only the newline: the other backslash is part of the name. */
	assert_string_equal(s.path[5], "/memfd:a\nb\\040c");
	assert_int_equal(s.m[6].start, 0xffffffffff600000ull);
	assert_int_equal(s.m[6].prot, PROT_EXEC);
	assert_int_equal(s.m[7].dev_major, 0x103);
	assert_int_equal(s.m[7].ino, 18446744073709551ull);
	/* The kernel adds one; the other is part of the name. */
	assert_string_equal(s.path[7], "/a (deleted)");
}

static void test_maps_malformed(void **state)
{
	char text[] =
		"\n"
		"garbage\n"
		"2000-1000 r-xp 00000000 08:02 1 /end-before-start\n"
		"1000-1000 r-xp 00000000 08:02 1 /empty\n"
		"-1000 r-xp 00000000 08:02 1 /no-start\n"
		"1000-2000 r-x\n"
		"1000-2000 r-xp 00000000 08:02\n"
		"1000-2000 r-xp 00000000 08:02 12x /ino\n"
		"11112222333344445-2000 r-xp 00000000 08:02 1 /17-digits\n"
		"1000-2000 r-xp 00000000 123456789:02 1 /major\n"
		"3000-4000 r-xp 00000000 08:02 1 /good\n";
	struct seen_maps s = { .n = 0 };
	char empty[] = "";

	(void)state;
	assert_int_equal(procfs_maps(text, note_map, &s), 9);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.path[0], "/good");
	assert_int_equal(procfs_maps(empty, note_map, &s), 0);
}

static void test_maps_stop(void **state)
{
	const char *lines = "1000-2000 r-xp 0 08:02 1 /a\n2000-3000 r-xp 0 08:02 1 /b\n";
	struct seen_maps s = { .n = 0, .stop_at = 1, .ret = 7 };
	char text[128];

	(void)state;
	strcpy(text, lines);
	assert_int_equal(procfs_maps(text, note_map, &s), -7);
	assert_int_equal(s.n, 1);
	s = (struct seen_maps){ .stop_at = 2, .ret = -5 };
	strcpy(text, lines);
	assert_int_equal(procfs_maps(text, note_map, &s), -5);
	assert_int_equal(s.n, 2);
}

static void test_stat(void **state)
{
	/* The comm is "a) S 1 (b": the fields begin after the last parenthesis. */
	const char *text = "4711 (a) S 1 (b) R 42 4711 4711 0 -1 4194304 88 0 0 0 0 0 0 0 20 0 1 0 "
			   "987654 5890048 225 "
			   "18446744073709551615 0 0 0";
	const char *kworker =
		"17 (kworker/0:1-ev) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 12 0 0";
	uint64_t ticks = 0;
	uint32_t ppid = 0;

	(void)state;
	assert_int_equal(procfs_stat_start(text, &ticks, &ppid), 0);
	assert_int_equal(ticks, 987654);
	assert_int_equal(ppid, 42);
	assert_false(procfs_stat_kthread(text));
	assert_true(procfs_stat_kthread(kworker));
	assert_false(procfs_stat_forked(text));
	assert_true(procfs_stat_forked(kworker));

	/*
	 * Zombies; a zombie leader with another thread running; and tasks that run, sleep or are
	 * stopped.
	 */
	assert_false(procfs_stat_running("7 (R (x) S) Z 1 7 7 0 -1 4228100 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0"));
	assert_false(procfs_stat_running("7 (x) X 1 7 7 0 -1 4228100 0 0 0 0 0 0 0 0 20 0 0 0 9 0 0"));
	assert_true(procfs_stat_running("7 (x) Z 1 7 7 0 -1 4228100 0 0 0 0 0 0 0 0 20 0 2 0 9 0 0"));
	assert_true(procfs_stat_running("7 (Z) T 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0"));
	assert_true(procfs_stat_running(text));
	assert_true(procfs_stat_running(kworker));
	assert_false(procfs_stat_running(""));
	assert_false(procfs_stat_running("1 (x)"));
	assert_false(procfs_stat_running("1 (x) S 1"));

	assert_true(procfs_stat_start("", &ticks, &ppid) < 0);
	assert_true(procfs_stat_start("1 (x) S 1 2 3", &ticks, &ppid) < 0);
	assert_true(procfs_stat_start("1 (x S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
				      &ticks, &ppid) < 0);
	assert_false(procfs_stat_kthread("1 (x)"));
	assert_false(procfs_stat_forked("1 (x)"));
}

/* Where a program is: field 26, 28, 45 or 46. */
static void test_image(void **state)
{
	static const char form[] = "7 (x) 1) R 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 5890048 225 18446744073709551615 "
				   "%s 94033 %s 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 %s %s 94100 140731 140740 140740 140790 0\n";
	static const char *const cases[][4] = {
		{ "94000", "140720", "94050", "94060" }, { "94001", "140720", "94050", "94060" }, { "94000", "140721", "94050", "94060" },
		{ "94000", "140720", "94051", "94060" }, { "94000", "140720", "94050", "94061" },
	};
	uint64_t image[5];
	char text[512];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), form, cases[i][0], cases[i][1], cases[i][2], cases[i][3]);
		assert_true(procfs_stat_image(text, &image[i]));
		assert_int_not_equal(image[i], 0);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(image[i], image[k]);
	}
	/* Not allowed to look; a zombie; in the middle of an exec; cut off. */
	snprintf(text, sizeof(text), form, "1", "0", "0", "0");
	assert_false(procfs_stat_image(text, image));
	snprintf(text, sizeof(text), form, "0", "0", "0", "0");
	assert_true(procfs_stat_image(text, image));
	assert_int_equal(*image, 0);
	snprintf(text, sizeof(text), form, "0", "140720", "0", "0");
	assert_true(procfs_stat_image(text, image));
	assert_int_equal(*image, 0);
	assert_false(procfs_stat_image("7 (x) R 1 7 7 0", image));
	assert_false(procfs_stat_image("", image));
}

static void test_status(void **state)
{
	/* A name cannot add lines: the kernel writes its newline as "\n". */
	const char *text =
		"Name:\tevil\\nNStgid:\t9\nUmask:\t0022\nTgid:\t20908\nNgid:\t0\nPid:\t20910\n"
		"Uid:\t1000\t1001\t1002\t1003\nGid:\t7\t7\t7\t7\nNStgid:\t20908\t2\t1\nNSpid:"
		"\t20910\t4\t3\n";
	uint32_t pids[8], uid = 0;

	(void)state;
	assert_int_equal(procfs_status_nstgid(text, pids, 8), 3);
	assert_int_equal(pids[0], 20908);
	assert_int_equal(pids[1], 2);
	assert_int_equal(pids[2], 1);
	assert_int_equal(procfs_status_nstgid(text, pids, 2), 2);
	assert_int_equal(pids[0], 20908);
	assert_int_equal(pids[1], 1);
	assert_int_equal(procfs_status_tgid(text), 20908);
	assert_true(procfs_status_fsuid(text, &uid));
	assert_int_equal(uid, 1003);

	assert_int_equal(procfs_status_nstgid("Name:\tx\n", pids, 8), 0);
	assert_int_equal(procfs_status_tgid("XTgid:\t5\n"), 0);
	assert_false(procfs_status_fsuid("Uid:\t1\t2\n", &uid));
	assert_int_equal(procfs_status_tgid("Tgid:\t99999999999\n"), 0);
}

static void test_cgroup(void **state)
{
	char out[64];

	(void)state;
	assert_true(procfs_cgroup_path("0::/docker/x\n", "perf_event", out, sizeof(out)));
	assert_string_equal(out, "/docker/x");
	assert_true(
		procfs_cgroup_path("12:cpu,cpuacct:/a\n5:net_cls,perf_event:/docker/b:c\n0::/sys\n",
				   "perf_event", out, sizeof(out)));
	assert_string_equal(out, "/docker/b:c");
	/* Hybrid, in the other order. */
	assert_true(
		procfs_cgroup_path("0::/sys\n5:perf_event:/b\n", "perf_event", out, sizeof(out)));
	assert_string_equal(out, "/b");
	/*
	 * A named hierarchy, and one whose name merely has the same prefix, are not the controller.
	 */
	assert_false(procfs_cgroup_path("1:name=systemd:/init\n3:perf_event2:/q\n", "perf_event",
					out, sizeof(out)));
	assert_false(procfs_cgroup_path("", "perf_event", out, sizeof(out)));
	assert_false(procfs_cgroup_path("0::/docker/x\n", "perf_event", out, 9));
	assert_true(procfs_cgroup_path("0::/docker/x", "perf_event", out, 10));
}

static void test_ns(void **state)
{
	(void)state;
	assert_int_equal(procfs_ns_inode("mnt:[4026531841]"), 4026531841u);
	assert_int_equal(procfs_ns_inode("mnt:[]"), 0);
	assert_int_equal(procfs_ns_inode("mnt:[12"), 0);
	assert_int_equal(procfs_ns_inode("/some/file"), 0);
	assert_int_equal(procfs_ns_inode(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_malformed),
		cmocka_unit_test(test_maps_stop),
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_ns),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
