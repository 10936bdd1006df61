/*
 * What the process table captures at the end, at exits and before it drops a file: processes,
 * containers and files that are gone by then.
 */
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "proctab_fixture.h"

/* Rows of the binary and of the vdso come as ELF files, one for each. */
static void test_capture_elf(void **state)
{
	struct child c = start(plain_child, NULL);
	struct proc *p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	uint32_t i, vdso = 0, self = 0;

	(void)state;
	proc_saw_code(p, (uintptr_t)test_capture_elf + 4);
	for (i = 0; i < p->maps->n; i++) {
		if (p->maps->maps[i].kind == MAPPING_VDSO)
			proc_saw_code(p, p->maps->maps[i].start + 0x600);
	}
	/* The process and its /proc are gone: what is pinned suffices. */
	stop_child(&c);
	exit_of((uint32_t)c.pid, (uint32_t)c.pid, now());
	assert_int_equal(proctab_capture(pt), 0);
	read_back();
	for (i = 0; i < got.ncap; i++) {
		const char *path = got.dso[got.cap[i].id - 1].path;

		assert_int_equal(got.cap[i].kind, CAPTURE_ELF);
		assert_memory_equal(got.cap[i].data, ELFMAG, SELFMAG);
		if (!strcmp(path, "[vdso]"))
			vdso++;
		else if (strstr(path, "test_proccapture"))
			self++;
	}
	assert_int_equal(vdso, 1);
	assert_int_equal(self, 1);
	assert_int_equal(got.ncap, 2);
	assert_int_equal(got.nexit, 1);
}

/* A tenant that has used up the time for captures gets no rows, and is named with what it lacks. */
static void test_tenant_without_time(void **state)
{
	struct child c = start(plain_child, NULL);
	struct proc *p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	struct ev_budget ev;

	(void)state;
	proc_saw_code(p, (uintptr_t)test_tenant_without_time + 4);
	assert_non_null(p->tenant);
	tenant_captured(p->tenant, 600000000000ull);
	assert_int_equal(proctab_capture(pt), 0);
	assert_true(tenants_left_out(p->tenant, BUDGET_ADDRS, true, &ev));
	assert_true(ev.count >= 1);
	stop_child(&c);
	read_back();
	assert_int_equal(got.ncap, 0);
}

/* The side-band of an exec of program @path by @pid, which nobody can look up. */
static void gone_exec(uint32_t pid, const char *path, uint64_t time, uint64_t ino_off)
{
	struct kmmap m = kmmap(pid, 0x400000, 0x10000, path);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	m.time = time;
	m.ino = st.st_ino + ino_off;
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	exec_comm(pid, "gone");
	proctab_mmap(pt, &m);
	proc_saw_code(proctab_sampled(pt, pid, pid, now()), 0x402000);
}

/*
 * A command that ended before anyone looked at it ran where the recorder does, and so did its
 * children: their binaries are captured. Not captured are files other than the mapped ones, those
 * of a process that entered another mount namespace, and those of unrelated processes.
 */
static void test_own_child_gone(void **state)
{
	char dir[] = "/tmp/own-XXXXXX", copies[6][64], cmd[500];
	const uint32_t pid = GONE;
	uint32_t i, have[6] = { 0 };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	/* Without a build-id, which would make them one. */
	for (i = 0; i < 6; i++) {
		snprintf(copies[i], sizeof(copies[i]), "%s/%u", dir, i);
		snprintf(cmd, sizeof(cmd), "objcopy --remove-section=.note.gnu.build-id /bin/true '%s'", copies[i]);
		assert_int_equal(system(cmd), 0);
	}
	proctab_own_child(pt, pid);
	gone_exec(pid, copies[0], now(), 0);
	fork_of(pid + 1, pid);
	gone_exec(pid + 1, copies[1], now(), 0);
	fork_of(pid + 2, pid);
	gone_exec(pid + 2, copies[2], now(), 1);
	fork_of(pid + 3, pid);
	proctab_namespaces(pt, pid + 3, 111, 0, 0);
	gone_exec(pid + 3, copies[3], now(), 0);
	gone_exec(pid + 4, copies[4], now(), 0);
	/* It was mapped before the file was made: that has the number of one that is gone. */
	fork_of(pid + 5, pid);
	gone_exec(pid + 5, copies[5], now() - 60000000000ull, 0);
	assert_int_equal(proctab_capture(pt), 0);
	read_back();
	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	assert_int_equal(got.nproc, 6);
	assert_int_equal(got.proc[0].mnt_ns, st.st_ino);
	assert_int_equal(got.proc[1].mnt_ns, st.st_ino);
	assert_int_equal(got.proc[3].mnt_ns, 111);
	assert_int_equal(got.proc[4].mnt_ns, 0);
	for (i = 0; i < got.ncap; i++)
		for (uint32_t k = 0; k < 6; k++)
			have[k] += !strcmp(got.dso[got.cap[i].id - 1].path, copies[k]);
	assert_int_equal(have[0], 1);
	assert_int_equal(have[1], 1);
	assert_int_equal(have[2], 0);
	assert_int_equal(have[3], 0);
	assert_int_equal(have[4], 0);
	assert_int_equal(have[5], 0);
	for (i = 0; i < 6; i++)
		unlink(copies[i]);
	rmdir(dir);
}

struct jit_shared {
	uint64_t code;
	uint32_t inner;		/* the JIT's own PID as it sees it */
	uint32_t outer;
	bool failed;
};

static void write_map_file(uint32_t pid, uint64_t code)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	f = fopen(path, "w");
	if (!f)
		_exit(3);
	fprintf(f, "%llx 100 jit_fn\n%llx 100 never_seen\n", (unsigned long long)code,
		(unsigned long long)code + 0x800);
	fclose(f);
}

/* A container's JIT: pid 1 of its own pid namespace, with a tmpfs of its own on /tmp. */
static void jit_child(int ready, int go, void *arg)
{
	struct jit_shared *sh = arg;
	void *code;
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		sh->failed = true;
		wait_here(ready, go);
		return;
	}
	pid = fork();
	if (pid) {
		char c;

		sh->outer = (uint32_t)pid;
		while (read(go, &c, 1) < 0 && errno == EINTR)
			;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount("none", "/tmp", "tmpfs", 0, NULL))
		_exit(2);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	sh->code = (uintptr_t)code;
	sh->inner = (uint32_t)getpid();
	write_map_file(sh->inner, sh->code);
	wait_here(ready, go);
}

static struct jit_shared *share(void)
{
	struct jit_shared *sh =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(sh, MAP_FAILED);
	return sh;
}

static void check_jit_capture(uint32_t serial)
{
	assert_int_equal(got.ncap, 1);
	assert_int_equal(got.cap[0].kind, CAPTURE_PERF_MAP);
	assert_int_equal(got.cap[0].id, serial);
	assert_non_null(strstr(got.cap[0].data, "jit_fn"));
	assert_null(strstr(got.cap[0].data, "never_seen"));
}

static void test_jit_in_namespaces(void **state)
{
	struct jit_shared *sh = share();
	struct child c = start(jit_child, sh);
	struct proc *p;

	(void)state;
	if (sh->failed) {
		stop_child(&c);
		print_message("# cannot make namespaces\n");
		skip();
	}
	/* Written by the intermediate process, possibly after its child started. */
	while (!*(volatile uint32_t *)&sh->outer)
		usleep(1000);
	assert_int_equal(sh->inner, 1);
	p = proctab_sampled(pt, sh->outer, sh->outer, now());
	assert_non_null(proc_maskset(p, sh->outer, sh->code + 8, 0x7ff000000000, 64));
	proc_saw_code(p, sh->code + 8);
	/* The container and its tmpfs disappear; the side-band arrives afterwards. */
	stop_child(&c);
	exit_of(sh->outer, sh->outer, now());
	assert_int_equal(proctab_capture(pt), 0);
	read_back();
	assert_int_equal(got.proc[0].nspid_n, 2);
	assert_int_equal(got.proc[0].nspid[1], 1);
	check_jit_capture(got.proc[0].serial);
	munmap(sh, 4096);
}

/* The map appears after the first sample, and at the end only the pinned /tmp still leads to it. */
static void late_map_child(int ready, int go, void *arg)
{
	struct jit_shared *sh = arg;
	char c;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sh->code = (uintptr_t)code;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, NULL))
		sh->failed = true;
	wait_here(ready, go);	/* one byte: write the map; end of file: end */
	if (!sh->failed)
		write_map_file((uint32_t)getpid(), sh->code);
	sh->inner = 1;
	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
}

static void test_jit_map_written_late(void **state)
{
	struct jit_shared *sh = share();
	struct child c = start(late_map_child, sh);
	struct proc *p;

	(void)state;
	if (sh->failed) {
		stop_child(&c);
		print_message("# cannot make namespaces\n");
		skip();
	}
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	assert_int_equal(p->facts->map.fd, -1);
	proc_saw_code(p, sh->code + 8);
	assert_int_equal(write(c.go, "x", 1), 1);
	while (!*(volatile uint32_t *)&sh->inner)
		usleep(1000);
	stop_child(&c);
	exit_of((uint32_t)c.pid, (uint32_t)c.pid, now());
	/* Once, at the exit. */
	assert_int_equal(proctab_capture(pt), 0);
	read_back();
	check_jit_capture(got.proc[0].serial);
	munmap(sh, 4096);
}

/*
 * A pre-fork server that started before the recording: only the parent's map names its JIT code.
 */
static void prefork_child(int ready, int go, void *arg)
{
	struct jit_shared *sh = arg;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	char c;

	sh->code = (uintptr_t)code;
	write_map_file((uint32_t)getpid(), sh->code);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sh->outer = (uint32_t)getpid();
		wait_here(ready, go);
		_exit(0);
	}
	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
}

static void test_jit_of_parent(void **state)
{
	struct jit_shared *sh = share();
	struct child c = start(prefork_child, sh);
	char path[64];
	struct proc *p;

	(void)state;
	p = proctab_sampled(pt, sh->outer, sh->outer, now());
	proc_saw_code(p, sh->code + 8);
	assert_int_equal(proctab_capture(pt), 0);
	stop_child(&c);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", c.pid);
	unlink(path);
	read_back();
	assert_int_equal(got.nproc, 1);
	assert_true(got.proc[0].inherited);
	check_jit_capture(got.proc[0].serial);
	munmap(sh, 4096);
}

static void old_map_child(int ready, int go, void *arg)
{
	struct jit_shared *sh = arg;
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	char path[64];

	sh->code = (uintptr_t)code;
	write_map_file((uint32_t)getpid(), sh->code);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (sh->inner == 1 && utimensat(AT_FDCWD, path, old, 0))
		sh->failed = true;
	if (sh->inner == 2 && chown(path, 4242, 4242))
		sh->failed = true;
	wait_here(ready, go);
}

static void refuse(uint32_t how, const char *want)
{
	struct jit_shared *sh = share();
	struct child c;
	struct proc *p;
	char path[64];

	sh->inner = how;
	c = start(old_map_child, sh);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", c.pid);
	if (sh->failed) {
		stop_child(&c);
		unlink(path);
		print_message("# cannot change the owner of a file\n");
		skip();
	}
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	assert_int_equal(p->facts->map.fd, -1);
	proc_saw_code(p, sh->code + 8);
	assert_int_equal(proctab_capture(pt), 0);
	stop_child(&c);
	unlink(path);
	read_back();
	/* No name, and why. */
	assert_int_equal(got.ncap, 1);
	assert_int_equal(got.cap[0].size, strlen(want));
	assert_memory_equal(got.cap[0].data, want, strlen(want));
	munmap(sh, 4096);
}

static void test_stale_map(void **state)
{
	(void)state;
	refuse(1, "# refused: its perf map is not used: it is older than the process\n");
}

static void test_foreign_map(void **state)
{
	(void)state;
	refuse(2, "# refused: its perf map is not used: it belongs to another user\n");
}

/* On a shared /tmp another container's process takes over the file name: the pinned map is ours. */
static void test_map_taken_over(void **state)
{
	struct jit_shared *sh = share();
	struct child c = start(old_map_child, sh);
	char path[64];
	struct proc *p;
	FILE *f;

	(void)state;
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	proc_saw_code(p, sh->code + 8);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", c.pid);
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%llx 100 not_ours\n", (unsigned long long)sh->code);
	fclose(f);
	assert_int_equal(proctab_capture(pt), 0);
	stop_child(&c);
	unlink(path);
	read_back();
	check_jit_capture(got.proc[0].serial);
	assert_null(strstr(got.cap[0].data, "not_ours"));
	munmap(sh, 4096);
}

/*
 * The kernel reports no build-id (before 5.12, or pages not in memory): two copies of one binary
 * are still one.
 */
static void test_build_id_from_file(void **state)
{
	static const char copy[] = "/tmp/proctab-copy-true";
	const char *const path[2] = { "/bin/true", copy };
	void *at[2];
	int i;

	(void)state;
	assert_int_equal(system("cp /bin/true /tmp/proctab-copy-true"), 0);
	proctab_sampled(pt, (uint32_t)getpid(), (uint32_t)getpid(), now());
	for (i = 0; i < 2; i++) {
		int fd = open(path[i], O_RDONLY);
		struct kmmap m;
		struct stat st;

		assert_int_equal(fstat(fd, &st), 0);
		at[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		m = kmmap((uint32_t)getpid(), (uintptr_t)at[i], 4096, path[i]);
		m.ino = st.st_ino;
		m.dev_major = major(st.st_dev);
		m.dev_minor = minor(st.st_dev);
		proctab_mmap(pt, &m);
	}
	read_back();
	assert_true(got.nmmap > 2);
	assert_string_equal(got.mmap[got.nmmap - 1].path, copy);
	assert_true(got.mmap[got.nmmap - 1].ev.dso > 0);
	assert_int_equal(got.mmap[got.nmmap - 1].ev.dso, got.mmap[got.nmmap - 2].ev.dso);
	unlink(copy);
	for (i = 0; i < 2; i++)
		munmap(at[i], 4096);
}

/* More files than descriptors: the oldest are closed, after their rows were written. */
static void test_eviction(void **state)
{
	char dir[] = "/tmp/evict-XXXXXX", path[64], cmd[400];
	uint32_t i, captured = 0;
	struct proc *p;
	void *at[40];

	(void)state;
	assert_non_null(mkdtemp(dir));
	pt->files.pins.budget = 16;
	p = proctab_sampled(pt, (uint32_t)getpid(), (uint32_t)getpid(), now());
	for (i = 0; i < 40; i++) {
		struct kmmap m;
		struct stat st;
		int fd;

		/* Without the build-id note, since with it all copies would be one binary. */
		snprintf(path, sizeof(path), "%s/lib%u.so", dir, i);
		snprintf(cmd, sizeof(cmd), "objcopy -R .note.gnu.build-id '%s' '%s' 2>/dev/null",
			 "/bin/true", path);
		if (system(cmd)) {
			print_message("# no objcopy\n");
			skip();
		}
		fd = open(path, O_RDONLY);
		assert_int_equal(fstat(fd, &st), 0);
		at[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(at[i], MAP_FAILED);
		close(fd);
		m = kmmap((uint32_t)getpid(), (uintptr_t)at[i], 4096, path);
		m.ino = st.st_ino;
		m.dev_major = major(st.st_dev);
		m.dev_minor = minor(st.st_dev);
		proctab_mmap(pt, &m);
		assert_true(pt->files.pins.n <= 16);
		proc_saw_code(p, (uintptr_t)at[i] + 100);
		unlink(path);
	}
	assert_int_equal(proctab_capture(pt), 0);
	assert_true(pt->files.pins.evicted >= 24);
	read_back();
	for (i = 0; i < got.ncap; i++)
		captured += got.cap[i].kind == CAPTURE_ELF;
	assert_int_equal(captured, 40);
	for (i = 0; i < 40; i++)
		munmap(at[i], 4096);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_capture_elf),
		T(test_tenant_without_time),
		T(test_own_child_gone),
		T(test_jit_in_namespaces),
		T(test_jit_map_written_late),
		T(test_jit_of_parent),
		T(test_stale_map),
		T(test_foreign_map),
		T(test_map_taken_over),
		T(test_build_id_from_file),
		T(test_eviction),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
