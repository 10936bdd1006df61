/*
 * The process table between side-band and recording: its output goes through the real writer and
 * comes back through the real reader. Processes are real where /proc matters.
 */
#include <fcntl.h>

#include "proctab_fixture.h"

/*
 * Everything that the table writes about a live process, compared with our own reading of its maps
 * and binaries.
 */
static void test_live_process(void **state)
{
	struct child c = start(plain_child, NULL);
	char line[512], path[64], link[256] = "";
	bool vsyscall = false;
	uint32_t nexec = 0, i, found;
	FILE *f;

	(void)state;
	assert_int_equal(proctab_read(pt, (uint32_t)c.pid, now()), 0);
	assert_non_null(proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now()));
	read_back();

	assert_int_equal(got.nproc, 1);
	assert_int_equal(got.proc[0].pid, c.pid);
	assert_int_equal(got.proc[0].serial, 1);
	assert_int_equal(got.proc[0].ppid, getpid());
	assert_true(got.proc[0].maps_known);
	assert_false(got.proc[0].inherited);
	assert_string_equal(got.comm[0], "plain one");
	assert_true(readlink("/proc/self/exe", link, sizeof(link) - 1) > 0);
	assert_string_equal(got.exe[0], link);
	memset(link, 0, sizeof(link));
	assert_true(readlink("/proc/self/ns/mnt", link, sizeof(link) - 1) > 0);
	snprintf(line, sizeof(line), "mnt:[%llu]", (unsigned long long)got.proc[0].mnt_ns);
	assert_string_equal(line, link);
	assert_true(got.proc[0].start_ticks > 0);
	assert_true(got.proc[0].nspid_n >= 1);
	assert_int_equal(got.proc[0].nspid[0], c.pid);

	snprintf(path, sizeof(path), "/proc/%d/maps", c.pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long start_addr, end, off;
		char prot[5], name[256] = "";

		sscanf(line, "%llx-%llx %4s %llx %*s %*s %255s", &start_addr, &end, prot, &off,
		       name);
		if (prot[2] != 'x')
			continue;
		nexec++;
		vsyscall |= !strcmp(name, "[vsyscall]");
		for (i = found = 0; i < got.nmmap; i++) {
			if (got.mmap[i].ev.start != start_addr)
				continue;
			found++;
			assert_int_equal(got.mmap[i].ev.len, end - start_addr);
			assert_int_equal(got.mmap[i].ev.pgoff, off);
			assert_string_equal(got.mmap[i].path, name);
			if (name[0] == '/' || !strcmp(name, "[vdso]")) {
				assert_true(got.mmap[i].ev.dso > 0);
				assert_string_equal(got.dso[got.mmap[i].ev.dso - 1].path, name);
			}
		}
		assert_int_equal(found, 1);
	}
	fclose(f);
	/*
	 * Kernels with vsyscall=none, as Debian's, show no such page; it is in the recording
	 * nevertheless.
	 */
	nexec += !vsyscall;
	assert_int_equal(got.nmmap, nexec);
	assert_true(nexec >= 4);

	/* readelf is an independent reader of build-ids. */
	for (i = 0; i < got.ndso; i++) {
		char cmd[400], hex[64] = "", want[64];
		uint32_t b;

		if (!strstr(got.dso[i].path, "libc.so.6"))
			continue;
		snprintf(cmd, sizeof(cmd), "readelf -n '%s' | sed -n 's/.*Build ID: //p'",
			 got.dso[i].path);
		f = popen(cmd, "r");
		assert_int_equal(fscanf(f, "%63s", hex), 1);
		pclose(f);
		assert_int_equal(got.dso[i].ev.build_id_len, 20);
		for (b = 0; b < 20; b++)
			snprintf(want + b * 2, 3, "%02x", got.dso[i].ev.build_id[b]);
		assert_string_equal(hex, want);
	}
	stop_child(&c);
}

static void test_read_gone(void **state)
{
	(void)state;
	assert_int_equal(proctab_read(pt, GONE, now()), -ESRCH);
	/* The process started after the sample was taken: the PID has been reused. */
	assert_int_equal(proctab_read(pt, (uint32_t)getpid(), 1), -ESRCH);
	read_back();
	assert_int_equal(got.nproc, 0);
}

static void test_idle_and_exiting(void **state)
{
	struct proc *p = proctab_sampled(pt, 0, 0, 5);

	(void)state;
	assert_null(proc_maskset(p, 0, 0x1000, 0x2000, 8));
	p = proctab_sampled(pt, UINT32_MAX, UINT32_MAX, 6);
	assert_null(proc_maskset(p, UINT32_MAX, 0x1000, 0x2000, 8));
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_string_equal(got.comm[0], "swapper");
	assert_true(got.proc[0].maps_known);
	assert_int_equal(got.nmmap, 0);
	assert_false(got.proc[1].maps_known);
}

/*
 * In a nested PID namespace, PID 0 stands for any process outside, also for the parent of a process
 * that enters it (setns(2)).
 */
static void test_outside(void **state)
{
	struct child c = start(plain_child, NULL);
	struct ev_task fork = { .time = now(), .pid = (uint32_t)c.pid, .tid = (uint32_t)c.pid };

	(void)state;
	proctab_nested(pt);
	proctab_sampled(pt, 0, 0, now());
	proctab_fork(pt, &fork);
	assert_non_null(proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now()));
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_string_equal(got.comm[0], "[outside]");
	/* Its own name and mappings, none from PID 0. */
	assert_int_equal(got.proc[1].pid, c.pid);
	assert_string_equal(got.comm[1], "plain one");
	assert_true(got.proc[1].maps_known);
	assert_true(got.nmmap >= 4);
	stop_child(&c);
}

static void test_kernel_thread(void **state)
{
	struct stat st;

	(void)state;
	if (stat("/proc/2/exe", &st) == 0 || errno != ENOENT || stat("/proc/2/fd", &st)) {
		print_message("# pid 2 is no kernel thread here: own pid namespace\n");
		skip();
	}
	proctab_sampled(pt, 2, 2, now());
	read_back();
	assert_string_equal(got.comm[0], "kthreadd");
	assert_true(got.proc[0].maps_known);
	assert_int_equal(got.nmmap, 0);
}

/* A program that is gone by its first sample, known only from side-band. */
static void test_exec_seen_then_gone(void **state)
{
	struct kmmap m = with_id(kmmap(GONE, 0x400000, 0x2000, "/app/x"), 7);
	struct proc *p;

	(void)state;
	fork_of(GONE, GONE + 1);
	proctab_namespaces(pt, GONE, 111, 222, 333);
	exec_comm(GONE, "x");
	proctab_mmap(pt, &m);
	p = proctab_sampled(pt, GONE, GONE, 10);
	assert_non_null(proc_maskset(p, GONE, 0x400010, 0x7ff000000000, 64));
	assert_null(proc_maskset(p, GONE, 0x500000, 0x7ff000000000, 64));
	read_back();
	assert_int_equal(got.nproc, 1);
	assert_string_equal(got.comm[0], "x");
	assert_true(got.proc[0].maps_known);
	assert_false(got.proc[0].inherited);
	assert_int_equal(got.proc[0].mnt_ns, 111);
	assert_int_equal(got.proc[0].pid_ns, 222);
	assert_int_equal(got.proc[0].user_ns, 333);
	assert_int_equal(got.ndso, 1);
	assert_int_equal(got.dso[0].ev.build_id_len, 20);
	assert_int_equal(got.dso[0].ev.build_id[19], 7);
	/* The program and the vsyscall page, for which there is no record. */
	assert_int_equal(got.nmmap, 2);
	assert_int_equal(got.mmap[0].ev.start, 0x400000);
	assert_int_equal(got.mmap[0].ev.dso, 1);
	assert_int_equal(got.mmap[1].ev.start, 0xffffffffff600000ull);
	assert_int_equal(got.mmap[1].ev.dso, 0);
}

/*
 * The program of a process that is gone is the first file mapped after its exec, even if the
 * process has another name, the file is deleted, or it was sampled before. Not so after a loss of
 * records, or if the kernel could not name the file.
 */
static void test_exe_by_mapping(void **state)
{
	struct kmmap stack = kmmap(GONE, 0x7ff000000000, 0x21000, "[stack]");
	struct kmmap prog = with_id(kmmap(GONE, 0x400000, 0x2000, "/app/x (deleted)"), 7);
	struct kmmap ld = with_id(kmmap(GONE, 0x7f0000000000, 0x2000, "/lib/ld.so"), 8);
	struct kmmap late = with_id(kmmap(GONE + 1, 0x400000, 0x2000, "/app/y"), 9);
	struct kmmap after = with_id(kmmap(GONE + 2, 0x7f0000000000, 0x2000, "/lib/ld.so"), 8);
	struct kmmap deep = with_id(kmmap(GONE + 4, 0x400000, 0x2000, "//toolong"), 10);

	(void)state;
	exec_comm(GONE, "script.sh");
	proctab_mmap(pt, &stack);
	proctab_mmap(pt, &prog);
	proctab_mmap(pt, &ld);
	proctab_sampled(pt, GONE, GONE, 10);
	exec_comm(GONE + 1, "y");
	proctab_sampled(pt, GONE + 1, GONE + 1, 11);
	proctab_mmap(pt, &late);
	proctab_sampled(pt, GONE + 1, GONE + 1, 12);
	exec_comm(GONE + 2, "z");
	proctab_lost(pt);
	proctab_mmap(pt, &after);
	proctab_sampled(pt, GONE + 2, GONE + 2, 13);
	fork_of(GONE + 3, GONE + 1);
	proctab_sampled(pt, GONE + 3, GONE + 3, 14);
	exec_comm(GONE + 4, "deep");
	proctab_mmap(pt, &deep);
	proctab_sampled(pt, GONE + 4, GONE + 4, 15);
	read_back();

	assert_int_equal(got.nproc, 6);
	assert_string_equal(got.exe[0], "/app/x (deleted)");
	assert_string_equal(got.exe[1], "");
	assert_string_equal(got.exe[2], "/app/y");
	assert_int_equal(got.proc[2].serial, got.proc[1].serial);
	/* It still has its earlier mappings. */
	assert_true(got.proc[1].maps_known);
	assert_false(got.proc[2].maps_known);
	assert_string_equal(got.exe[3], "");
	assert_string_equal(got.exe[4], "/app/y");
	assert_string_equal(got.exe[5], "");
}

static void test_fork_and_exec(void **state)
{
	struct kmmap m = with_id(kmmap(GONE, 0x400000, 0x2000, "/app/x"), 7);
	struct kmmap own = with_id(kmmap(GONE + 1, 0x900000, 0x1000, "/app/plugin"), 9);
	struct kmmap next = with_id(kmmap(GONE + 1, 0x400000, 0x3000, "/app/y"), 8);
	struct proc *p;

	(void)state;
	exec_comm(GONE, "x");
	proctab_mmap(pt, &m);
	proctab_sampled(pt, GONE, GONE, 10);
	fork_of(GONE + 1, GONE);
	proctab_mmap(pt, &own);
	p = proctab_sampled(pt, GONE + 1, GONE + 1, 11);
	assert_non_null(proc_maskset(p, GONE + 1, 0x400010, 0x7ff000000000, 64));
	assert_non_null(proc_maskset(p, GONE + 1, 0x900000, 0x7ff000000000, 64));
	/* Its parent does not have the plugin. */
	p = proctab_sampled(pt, GONE, GONE, 12);
	assert_null(proc_maskset(p, GONE, 0x900000, 0x7ff000000000, 64));
	exec_comm(GONE + 1, "y");
	proctab_mmap(pt, &next);
	p = proctab_sampled(pt, GONE + 1, GONE + 1, 13);
	assert_null(proc_maskset(p, GONE + 1, 0x900000, 0x7ff000000000, 64));
	read_back();

	assert_int_equal(got.nproc, 3);
	assert_true(got.proc[1].inherited);
	assert_true(got.proc[1].maps_known);
	assert_string_equal(got.comm[1], "x");
	assert_int_equal(got.proc[1].ppid, GONE);
	assert_int_equal(got.proc[2].pid, GONE + 1);
	assert_false(got.proc[2].inherited);
	assert_string_equal(got.comm[2], "y");
	assert_int_equal(got.proc[2].serial, 3);
	/* x, plugin, y; both processes share one dso for x. */
	assert_int_equal(got.ndso, 3);
	assert_int_equal(got.nfork, 1);
	assert_int_equal(got.ntcomm, 1);
	assert_true(got.tcomm[0].exec);
}

/* For samples without a cgroup: the latest known one, or the parent's at the fork. */
static void test_cgroup_id(void **state)
{
	(void)state;
	assert_int_equal(proctab_cgroup_id(pt, GONE), 0);
	exec_comm(GONE, "x");
	assert_int_equal(proctab_cgroup_id(pt, GONE), 0);
	proctab_in_cgroup(proctab_sampled(pt, GONE, GONE, 10), 77);
	assert_int_equal(proctab_cgroup_id(pt, GONE), 77);
	fork_of(GONE + 1, GONE);
	proctab_in_cgroup(proctab_sampled(pt, GONE, GONE, 12), 78);
	assert_int_equal(proctab_cgroup_id(pt, GONE), 78);
	assert_int_equal(proctab_cgroup_id(pt, GONE + 1), 77);
	/* Another process with that PID. */
	fork_of(GONE, GONE + 2);
	assert_int_equal(proctab_cgroup_id(pt, GONE), 0);
}

static void test_unknown_then_refreshed(void **state)
{
	struct child c = start(plain_child, NULL);
	uint64_t ip = (uintptr_t)test_unknown_then_refreshed, t = now();
	struct proc *p = proctab_sampled(pt, GONE, GONE, t);
	uint32_t before;

	(void)state;
	/* Unknown and gone. */
	assert_null(proc_maskset(p, GONE, ip, 0x7ff000000000, 64));
	/*
	 * Side-band reported an exec, but the mappings were lost: /proc is read when code appears
	 * in no known mapping.
	 */
	exec_comm((uint32_t)c.pid, "lossy");
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, t);
	assert_non_null(proc_maskset(p, (uint32_t)c.pid, ip, 0x7ff000000000, 64));
	before = p->maps->n;
	/* Code in no mapping: /proc is read again only after 100 ms of samples. */
	assert_null(proc_maskset(p, (uint32_t)c.pid, 0x10, 0x7ff000000000, 64));
	assert_int_equal(p->refresh_time, t);
	proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, t + 99999999);
	assert_null(proc_maskset(p, (uint32_t)c.pid, 0x10, 0x7ff000000000, 64));
	assert_int_equal(p->refresh_time, t);
	proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, t + 100000000);
	assert_null(proc_maskset(p, (uint32_t)c.pid, 0x10, 0x7ff000000000, 64));
	assert_int_equal(p->refresh_time, t + 100000000);
	assert_int_equal(p->maps->n, before);
	stop_child(&c);
	read_back();
	assert_false(got.proc[0].maps_known);
	assert_string_equal(got.comm[1], "lossy");
	assert_true(got.nmmap >= before);
}

static void test_same_path_two_containers(void **state)
{
	struct kmmap m[] = {
		with_id(kmmap(GONE, 0x400000, 0x1000, "/app"), 1),
		with_id(kmmap(GONE + 1, 0x400000, 0x1000, "/app"), 2),
		/*
		 * Without build-ids, the mount namespace tells them apart, and so does the inode.
		 */
		kmmap(GONE, 0x500000, 0x1000, "/lib.so"),
		kmmap(GONE + 1, 0x500000, 0x1000, "/lib.so"),
		kmmap(GONE + 1, 0x600000, 0x1000, "/lib.so"),
		kmmap(GONE + 1, 0x700000, 0x1000, "/lib.so"),
		/* The same binary in both is one. */
		with_id(kmmap(GONE, 0x800000, 0x1000, "/a/libz.so"), 3),
		with_id(kmmap(GONE + 1, 0x900000, 0x1000, "/b/libz.so"), 3),
		/*
		 * The mapped file was deleted: the path is unchanged, the identity is the kernel's.
		 */
		kmmap(GONE + 1, 0xa00000, 0x1000, "/old.so (deleted)"),
	};
	const uint32_t want[] = { 1, 2, 3, 4, 4, 5, 6, 6, 7 };
	uint32_t seen[9] = { 0 }, i, j;

	(void)state;
	for (i = 2; i < 6; i++) {
		m[i].ino = 50;
		m[i].dev_minor = 39;
	}
	m[5].ino = 51;
	m[8].ino = 60;
	exec_comm(GONE, "app");
	exec_comm(GONE + 1, "app");
	proctab_namespaces(pt, GONE, 1001, 0, 0);
	proctab_namespaces(pt, GONE + 1, 1002, 0, 0);
	proctab_sampled(pt, GONE, GONE, 1);
	proctab_sampled(pt, GONE + 1, GONE + 1, 1);
	for (i = 0; i < 9; i++)
		proctab_mmap(pt, &m[i]);
	read_back();
	for (i = 0; i < 9; i++) {
		for (j = 0; j < got.nmmap; j++) {
			if (got.mmap[j].ev.pid == m[i].pid && got.mmap[j].ev.start == m[i].start)
				seen[i] = got.mmap[j].ev.dso;
		}
		assert_int_equal(seen[i], want[i]);
	}
	assert_int_equal(got.ndso, 7);
	assert_int_equal(got.dso[2].ev.mnt_ns, 1001);
	assert_int_equal(got.dso[3].ev.mnt_ns, 1002);
	assert_true(got.dso[6].ev.deleted);
	assert_string_equal(got.dso[6].path, "/old.so");
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(mapping_kind("/SYSV0000a5ff"), MAPPING_JIT);
	assert_int_equal(mapping_kind("/SYSVapp"), MAPPING_FILE);
	assert_int_equal(mapping_kind("/SYSV00000000/app"), MAPPING_FILE);
	assert_int_equal(mapping_kind("/anon_hugepage"), MAPPING_JIT);
	assert_int_equal(mapping_kind("/anon_hugepages/app"), MAPPING_FILE);
}

static void test_no_file_behind(void **state)
{
	static const char *const paths[] = { "//anon", "[anon:v8]", "/memfd:doublemapper (deleted)",
					     "/dev/zero (deleted)", "/SYSV00000000 (deleted)",
					     "/anon_hugepage (deleted)", "[heap]" };
	struct proc *p;
	uint32_t i;

	(void)state;
	exec_comm(GONE, "jit");
	p = proctab_sampled(pt, GONE, GONE, 1);
	for (i = 0; i < 7; i++) {
		struct kmmap m = kmmap(GONE, 0x100000 * (i + 1), 0x1000, paths[i]);

		m.ino = i;
		proctab_mmap(pt, &m);
		proc_saw_code(p, 0x100000 * (i + 1) + 0x10);
	}
	/* For each, the address and the byte before it. */
	assert_int_equal(p->jit.n, 14);
	/* The end of a mapping may be a return address; addresses outside are ignored. */
	proc_saw_code(p, 0x101000);
	assert_int_equal(p->jit.n, 15);
	proc_saw_code(p, 0x101001);
	proc_saw_code(p, 0xffffffffff600400ull);
	assert_int_equal(p->jit.n, 15);
	read_back();
	assert_int_equal(got.ndso, 0);
	assert_int_equal(got.nmmap, 8);
}

/* Threads: comm of a thread from side-band, from its creator, and from /proc. */
static void test_threads(void **state)
{
	const struct ev_task birth = {
		.time = 2, .pid = GONE, .tid = GONE + 5, .ppid = GONE, .ptid = GONE
	};
	const struct ev_task second = { .time = 2, .pid = GONE, .tid = GONE + 6, .ppid = GONE,
					.ptid = GONE + 5 };
	const struct ev_comm name = { .time = 3, .pid = GONE, .tid = GONE + 5, .comm = "worker" };

	(void)state;
	exec_comm(GONE, "main");
	proctab_sampled(pt, GONE, GONE, 1);
	proctab_fork(pt, &birth);
	proctab_sampled(pt, GONE, GONE + 5, 2);
	proctab_comm(pt, &name);
	proctab_fork(pt, &second);
	proctab_sampled(pt, GONE, GONE + 6, 4);
	proctab_sampled(pt, GONE, GONE + 6, 5);
	exit_of(GONE, GONE + 6, 6);
	/* On its way out of the kernel; and another thread with that number, whose fork was lost. */
	proctab_sampled(pt, GONE, GONE + 6, 7);
	exit_of(GONE, GONE + 6, 8);
	proctab_sampled(pt, GONE, GONE + 6, 2000000000);
	read_back();
	assert_int_equal(got.nproc, 1);
	assert_int_equal(got.nfork, 2);
	assert_int_equal(got.nexit, 2);
	assert_int_equal(got.ntcomm, 5);
	assert_string_equal(got.tcomm_text[0], "main");
	assert_int_equal(got.tcomm[0].tid, GONE + 5);
	assert_string_equal(got.tcomm_text[1], "worker");
	assert_string_equal(got.tcomm_text[2], "worker");
	assert_int_equal(got.tcomm[2].tid, GONE + 6);
	assert_string_equal(got.tcomm_text[3], "worker");
	assert_int_equal(got.tcomm[3].tid, GONE + 6);
	assert_string_equal(got.tcomm_text[4], "main");
}

/* A program with code at 0x400000. */
static struct proc *exec_app(void)
{
	struct kmmap m = with_id(kmmap(GONE, 0x400000, 0x1000, "/app"), 1);

	exec_comm(GONE, "app");
	proctab_mmap(pt, &m);
	return proctab_sampled(pt, GONE, GONE, 1);
}

/*
 * A copy that begins lower also ends lower. For the stack above it, the end of the previous copy
 * still counts.
 */
static void test_stack_top(void **state)
{
	struct proc *p = exec_app();
	const struct maskset *ms;

	(void)state;
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000001000, 0x1000);
	assert_int_equal(ms->top, 0x7ff000002000);
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000000800, 0x1000);
	assert_int_equal(ms->top, 0x7ff000002000);
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000001800, 0x1000);
	assert_int_equal(ms->top, 0x7ff000002800);
	/* On another stack; without a stack copy; in another thread. */
	ms = proc_maskset(p, GONE, 0x400000, 0x10000000, 0x2000);
	assert_int_equal(ms->top, 0x10002000);
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000001800, 0);
	assert_int_equal(ms->top, 0);
	ms = proc_maskset(p, GONE + 1, 0x400000, 0x7ff000000800, 0x1000);
	assert_int_equal(ms->top, 0x7ff000001800);
	/* Nothing of it remains after an exec. */
	p = exec_app();
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000000800, 0x1000);
	assert_int_equal(ms->top, 0x7ff000001800);
}

/* A signal handler on a stack of its own: the interrupted stack still counts as stack. */
static void test_other_stacks(void **state)
{
	struct proc *p = exec_app();
	const struct maskset *ms;

	(void)state;
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000000000, 0x1000);
	assert_int_equal(ms->nstacks, 0);
	/*
	 * Deeper on the same stack: words below the stack pointer are unused, so the ranges do not
	 * include them.
	 */
	ms = proc_maskset(p, GONE, 0x400000, 0x7ff000000800, 0x1000);
	assert_int_equal(ms->nstacks, 0);
	ms = proc_maskset(p, GONE, 0x400000, 0x10000000, 0x2000);
	assert_int_equal(ms->nstacks, 1);
	assert_true(ms->stacks[0].start <= 0x7ff000000000);
	assert_int_equal(ms->stacks[0].end, 0x7ff000001800);
	/* Another thread has not used that stack. */
	ms = proc_maskset(p, GONE + 1, 0x400000, 0x20000000, 0x2000);
	assert_int_equal(ms->nstacks, 0);
	/* The first thread's three other known stacks are dropped only for newer ones. */
	proc_maskset(p, GONE, 0x400000, 0x30000000, 0x2000);
	proc_maskset(p, GONE, 0x400000, 0x40000000, 0x2000);
	ms = proc_maskset(p, GONE, 0x400000, 0x50000000, 0x2000);
	assert_int_equal(ms->nstacks, 4);
	ms = proc_maskset(p, GONE, 0x400000, 0x50000100, 0x2000);
	assert_int_equal(ms->nstacks, 3);
}

static size_t open_fds(void)
{
	size_t n = 0;
	int fd;

	for (fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Thousands of processes come and go: neither their entries nor descriptors accumulate. */
static void test_bounded(void **state)
{
	size_t fds;
	uint32_t i;

	(void)state;
	proctab_sampled(pt, (uint32_t)getpid(), (uint32_t)getpid(), now());
	fds = open_fds();
	for (i = 0; i < 20000; i++) {
		uint64_t t = 1000000000ull + i * 1000000ull;
		struct kmmap m = with_id(kmmap(GONE + i, 0x400000, 0x1000, "/bin/x"), 1);

		fork_of(GONE + i, (uint32_t)getpid());
		exec_comm(GONE + i, "x");
		m.time = t;
		proctab_mmap(pt, &m);
		exit_of(GONE + i, GONE + i, t);
	}
	/* Five seconds with one process per millisecond are 5,000; the limit is 4,096. */
	assert_true(pt->ndead <= 4097);
	assert_true(pt->procs.n <= 4100);
	assert_int_equal(open_fds(), fds);
	read_back();
	assert_int_equal(got.nproc, 1);
}

static bool is_known(uint32_t pid)
{
	return u64map_get(&pt->procs, pid);
}

/*
 * A process that is sampled after its EXIT, on its way out of the kernel, still ends. So does one
 * whose first thread ended before its others. By now another process has the PID, or threads of
 * that process exist.
 */
static void test_sampled_after_exit(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	const struct ev_task birth = { .time = 10, .pid = GONE + 1, .tid = GONE + 2, .ppid = GONE + 1, .ptid = GONE + 1 };
	uint64_t late = 7000000000ull;

	(void)state;
	fork_of(GONE, 1);
	exec_comm(GONE, "x");
	proctab_sampled(pt, GONE, GONE, 10);
	exit_of(GONE, GONE, 20);
	assert_true(proctab_sampled(pt, GONE, GONE, 30)->dead);
	fork_of(GONE + 1, 1);
	exec_comm(GONE + 1, "y");
	proctab_fork(pt, &birth);
	exit_of(GONE + 1, GONE + 1, 20);
	exit_of(GONE + 1, GONE + 2, 40);
	proctab_sampled(pt, GONE + 1, GONE + 2, 50);
	proctab_sampled(pt, self, self, 10);
	exit_of(self, self, 20);
	assert_false(proctab_sampled(pt, self, self, 30)->dead);
	assert_int_equal(pt->ndead, 2);
	/* It is kept as long after its last sample as after an exit. */
	exit_of(GONE + 3, GONE + 3, 5000000025ull);
	assert_true(is_known(GONE) && is_known(GONE + 1));
	exit_of(GONE + 3, GONE + 3, late);
	assert_false(is_known(GONE) || is_known(GONE + 1));
	assert_true(is_known(self));
	assert_int_equal(pt->ndead, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_live_process),
		T(test_read_gone),
		T(test_idle_and_exiting),
		T(test_sampled_after_exit),
		T(test_outside),
		T(test_kernel_thread),
		T(test_exec_seen_then_gone),
		T(test_exe_by_mapping),
		T(test_fork_and_exec),
		T(test_cgroup_id),
		T(test_unknown_then_refreshed),
		T(test_same_path_two_containers),
		T(test_kinds),
		T(test_no_file_behind),
		T(test_threads),
		T(test_stack_top),
		T(test_other_stacks),
		T(test_bounded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
