/*
 * The process table when a process is looked at late: /proc shows the program after the sampled
 * one, no program, or one that may not be read. The state before its exec is taken from the process
 * that forked it.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "host/nsopen.h"
#include "proctab_fixture.h"

/*
 * A child that is a fork of us until it is told to exec sleep(1); returns when that has happened.
 */
static void becomes_sleep(int ready, int go, void *arg)
{
	(void)arg;
	wait_here(ready, go);
	execl("/bin/sleep", "sleep", "60", NULL);
}

static void wait_for_exe(pid_t pid, const char *end)
{
	char path[64], exe[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	while (strlen(exe) < strlen(end) || strcmp(exe + strlen(exe) - strlen(end), end)) {
		memset(exe, 0, sizeof(exe));
		assert_true(readlink(path, exe, sizeof(exe) - 1) > 0);
		usleep(1000);
	}
}

static void begin_sleep(struct child *c)
{
	close(c->go);
	c->go = -1;
	wait_for_exe(c->pid, "/sleep");
	/* The file is in place before the flag that announces it. */
	while (1) {
		int procfd = nsopen_process((uint32_t)c->pid);
		bool forked = proc_facts_forked(procfd);

		close(procfd);
		if (!forked)
			return;
		usleep(1000);
	}
}

static void fork_at(uint32_t pid, uint32_t ppid, uint64_t time)
{
	proctab_fork(pt, &(struct ev_task){ .time = time, .pid = pid, .tid = pid, .ppid = ppid, .ptid = ppid });
}

/* Whether one of the mappings written for the @i-th ev_proc is of that file. */
static bool has_mapping(uint32_t i, const char *end)
{
	for (uint32_t k = 0; k < got.nmmap; k++) {
		size_t len = strlen(got.mmap[k].path);

		if (got.mmap[k].nproc == i + 1 && len >= strlen(end) &&
		    !strcmp(got.mmap[k].path + len - strlen(end), end))
			return true;
	}
	return false;
}

/*
 * Sampled as our fork, looked at when it is sleep(1): until side-band reaches the exec, it ran what
 * we run.
 */
static void test_sampled_before_exec(void **state)
{
	uint64_t ip = (uintptr_t)test_sampled_before_exec;
	struct child c = start(becomes_sleep, NULL);
	char us[256] = "", comm[32] = "";
	const uint64_t t = now();
	struct proc *p;
	FILE *f;

	(void)state;
	begin_sleep(&c);
	assert_true(readlink("/proc/self/exe", us, sizeof(us) - 1) > 0);
	f = fopen("/proc/self/comm", "r");
	assert_non_null(f);
	assert_non_null(fgets(comm, sizeof(comm), f));
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';

	fork_at((uint32_t)c.pid, (uint32_t)getpid(), t);
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, t + 1);
	assert_non_null(proc_maskset(p, (uint32_t)c.pid, ip, 0x7ff000000000, 64));
	/* Its present mappings are not added either when a sample's code is in no mapping. */
	assert_null(proc_maskset(p, (uint32_t)c.pid, 0x10, 0x7ff000000000, 64));
	proctab_comm(pt, &(struct ev_comm){ .time = t + 2, .pid = (uint32_t)c.pid, .tid = (uint32_t)c.pid,
					    .exec = true, .comm = "sleep" });
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, t + 3);
	/* As if its records had been lost. */
	assert_null(proc_maskset(p, (uint32_t)c.pid, ip, 0x7ff000000000, 64));
	stop_child(&c);
	read_back();

	assert_int_equal(got.nproc, 2);
	assert_true(got.proc[0].inherited);
	assert_true(got.proc[0].maps_known);
	assert_string_equal(got.exe[0], us);
	assert_string_equal(got.comm[0], comm);
	assert_false(has_mapping(0, "/sleep"));
	assert_true(has_mapping(0, strrchr(us, '/')));
	assert_true(has_mapping(1, "/sleep"));
	assert_false(has_mapping(1, strrchr(us, '/')));
	assert_string_equal(got.comm[1], "sleep");
	/* Its identity stays. */
	assert_true(got.proc[0].start_ticks > 0);
	assert_int_equal(got.proc[0].start_ticks, got.proc[1].start_ticks);
	assert_int_equal(got.proc[0].nspid[0], c.pid);
}

static void ends_at_once(int ready, int go, void *arg)
{
	(void)go;
	(void)arg;
	if (write(ready, "", 1) != 1)
		_exit(1);
	_exit(0);
}

/* Read as a zombie: it still shows its own identity, but only its parent shows what it ran. */
static void test_zombie(void **state)
{
	struct child c = start(ends_at_once, NULL);
	struct stat st;
	siginfo_t si;
	int procfd;

	(void)state;
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &si, WEXITED | WNOWAIT), 0);
	procfd = nsopen_process((uint32_t)c.pid);
	assert_true(proc_facts_there(procfd));
	assert_false(proc_facts_running(procfd));
	close(procfd);
	assert_int_equal(stat("/proc/self/ns/mnt", &st), 0);
	assert_int_equal(proctab_read(pt, (uint32_t)getpid(), now()), 0);
	fork_at((uint32_t)c.pid, (uint32_t)getpid(), now());
	proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 1);
	assert_int_equal(got.proc[0].pid, c.pid);
	assert_int_equal(got.proc[0].mnt_ns, st.st_ino);
	assert_true(got.proc[0].start_ticks > 0);
	assert_int_equal(got.proc[0].nspid[got.proc[0].nspid_n - 1], c.pid);
	assert_non_null(strstr(got.exe[0], "test_proclate"));
	assert_true(has_mapping(0, "/test_proclate"));
}

/*
 * One whose program /proc does not show, as when it is ending. Sampled in its exec, before it
 * mapped anything, it has the program that it mapped afterwards.
 */
static void test_hidden_in_exec(void **state)
{
	char path[64], exe[8];
	struct kmmap m;
	struct child c;
	uint32_t pid;

	(void)state;
	if (geteuid())
		skip();
	c = start(becomes_sleep, NULL);
	pid = (uint32_t)c.pid;
	m = with_id(kmmap(pid, 0x400000, 0x2000, "/app/x"), 7);
	begin_sleep(&c);
	assert_int_equal(seteuid(65534), 0);
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	assert_int_equal(readlink(path, exe, sizeof(exe)), -1);
	exec_comm(pid, "x");
	proctab_sampled(pt, pid, pid, now());
	proctab_mmap(pt, &m);
	proctab_sampled(pt, pid, pid, now());
	assert_int_equal(seteuid(0), 0);
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_string_equal(got.exe[0], "");
	assert_string_equal(got.exe[1], "/app/x");
	assert_int_equal(got.proc[1].serial, got.proc[0].serial);
	/* It still has its earlier mappings. */
	assert_false(got.proc[1].maps_known);
}

/*
 * An exec without a later mapping: the kernel removed the events. Unless the mapping's record was
 * lost.
 */
static void test_barred(void **state)
{
	const char *comm;

	(void)state;
	exec_comm(GONE, "plain");
	proctab_mmap(pt, &(struct kmmap){ .time = 1, .pid = GONE, .tid = GONE, .start = 0x400000, .len = 0x1000,
					  .prot = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE, .path = "/bin/x" });
	exit_of(GONE, GONE, 2);
	exec_comm(GONE + 1, "unheard");
	proctab_lost(pt);
	exit_of(GONE + 1, GONE + 1, 2);
	exit_of(GONE + 2, GONE + 2, 2);
	assert_int_equal(proctab_barred(pt, &comm), 0);
	exec_comm(GONE + 3, "sudo");
	exit_of(GONE + 3, GONE + 3, 3);
	exec_comm(GONE + 4, "su");
	exit_of(GONE + 4, GONE + 4, 3);
	assert_int_equal(proctab_barred(pt, &comm), 2);
	assert_string_equal(comm, "sudo");
}

/*
 * As above, with a known parent: what the child maps before the exec is its own, what it maps after
 * it is not.
 */
static void test_known_before_exec(void **state)
{
	struct child c = start(becomes_sleep, NULL);
	const uint64_t t = now();
	uint32_t n;
	struct proc *p;

	(void)state;
	assert_int_equal(proctab_read(pt, (uint32_t)getpid(), t), 0);
	begin_sleep(&c);
	fork_at((uint32_t)c.pid, (uint32_t)getpid(), t);
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, t + 1);
	n = p->maps->n;
	assert_null(proc_maskset(p, (uint32_t)c.pid, 0x10, 0x7ff000000000, 64));
	assert_int_equal(p->maps->n, n);
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 1);
	assert_non_null(strstr(got.exe[0], "test_proclate"));
	assert_false(has_mapping(0, "/sleep"));
}

/*
 * One that stays as forked is read itself; so is the child of a child. The child of a dead one is
 * read from the living ancestor.
 */
static void test_sampled_without_exec(void **state)
{
	uint64_t ip = (uintptr_t)test_sampled_without_exec, t = now();
	struct child c = start(plain_child, NULL), x = start(becomes_sleep, NULL);
	struct proc *p;

	(void)state;
	fork_at((uint32_t)c.pid, (uint32_t)getpid(), t);
	p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());
	assert_non_null(p->facts);
	assert_int_equal(p->facts->pid, c.pid);
	assert_non_null(proc_maskset(p, (uint32_t)c.pid, ip, 0x7ff000000000, 64));
	stop_child(&c);

	begin_sleep(&x);
	/* Us, then x, then a child of x that is gone: neither x nor its child has had a sample. */
	fork_at((uint32_t)x.pid, (uint32_t)getpid(), t);
	fork_at(GONE, (uint32_t)x.pid, t + 1);
	p = proctab_sampled(pt, GONE, GONE, t + 2);
	assert_non_null(proc_maskset(p, GONE, ip, 0x7ff000000000, 64));
	stop_child(&x);
	read_back();
	assert_string_equal(got.comm[0], "plain one");
	assert_non_null(strstr(got.exe[1], "test_proclate"));
	assert_false(has_mapping(1, "/sleep"));
}

static bool sleeps_since(void *ctx, uint32_t pid, uint64_t time)
{
	const struct ev_comm *exec = ctx;

	return pid == exec->pid && exec->time > time;
}

/*
 * One that started before we looked, and execs another program after its first sample, before it is
 * read.
 */
static void test_read_after_exec(void **state)
{
	uint64_t ip = (uintptr_t)test_read_after_exec;
	struct child c = start(becomes_sleep, NULL);
	const uint64_t t = now();
	const uint32_t pid = (uint32_t)c.pid;
	struct ev_comm exec = { .time = t + 2, .pid = pid, .tid = pid, .exec = true, .comm = "sleep" };
	struct proc *p;

	(void)state;
	begin_sleep(&c);
	proctab_look_ahead(pt, sleeps_since, NULL, &exec);
	p = proctab_sampled(pt, pid, pid, t + 1);
	assert_null(proc_maskset(p, pid, ip, 0x7ff000000000, 64));
	assert_int_equal(p->maps->n, 0);
	proctab_comm(pt, &exec);
	p = proctab_sampled(pt, pid, pid, t + 3);
	assert_non_null(p->facts);
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 2);
	assert_false(got.proc[0].maps_known);
	assert_false(has_mapping(0, "/sleep"));
	assert_string_equal(got.exe[0], "");
	assert_int_equal(got.proc[0].nspid[0], pid);
	assert_non_null(strstr(got.exe[1], "/sleep"));
}

/* What the parent runs since its own exec tells nothing about children forked before. */
static void test_parent_moved_on(void **state)
{
	struct child c = start(becomes_sleep, NULL);
	uint32_t pid = (uint32_t)c.pid;
	uint64_t t;
	struct proc *p;

	(void)state;
	begin_sleep(&c);
	t = now();
	fork_at(GONE, pid, t);
	proctab_comm(pt, &(struct ev_comm){ .time = t + 1, .pid = pid, .tid = pid, .exec = true, .comm = "sleep" });
	proctab_mmap(pt, &(struct kmmap){ .time = t + 2, .pid = pid, .tid = pid, .start = 0x400000, .len = 0x1000,
					  .prot = PROT_READ | PROT_EXEC, .path = "/usr/bin/sleep" });
	p = proctab_sampled(pt, GONE, GONE, t + 3);
	assert_null(proc_maskset(p, GONE, 0x400010, 0x7ff000000000, 64));
	/* A child forked after it has those mappings. */
	fork_at(GONE + 1, pid, t + 4);
	p = proctab_sampled(pt, GONE + 1, GONE + 1, t + 5);
	assert_non_null(proc_maskset(p, GONE + 1, 0x400010, 0x7ff000000000, 64));
	/* A process that gets its PID after it has ended is a different one. */
	fork_at(GONE + 2, GONE + 3, t + 6);
	fork_at(GONE + 3, pid, t + 7);
	p = proctab_sampled(pt, GONE + 2, GONE + 2, t + 8);
	assert_null(proc_maskset(p, GONE + 2, 0x400010, 0x7ff000000000, 64));
	stop_child(&c);
	read_back();
	assert_int_equal(got.nproc, 3);
	assert_false(got.proc[0].maps_known);
	assert_string_equal(got.exe[0], "");
	assert_true(got.proc[1].maps_known);
	assert_false(got.proc[2].maps_known);
}

/* Writes what the kernel reports for the code that @pid mapped from @path to @m. */
static void told_of(struct kmmap *m, uint32_t pid, const char *path)
{
	unsigned long long start, end, pgoff, ino;
	unsigned int major, minor;
	char line[4096], prot[5];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%u/maps", pid);
	f = fopen(line, "r");
	assert_non_null(f);
	m->len = 0;
	while (!m->len && fgets(line, sizeof(line), f)) {
		assert_int_equal(sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, prot, &pgoff, &major, &minor, &ino), 7);
		if (prot[2] != 'x' || !strstr(line, path))
			continue;
		*m = kmmap(pid, start, end - start, path);
		m->pgoff = pgoff;
		m->dev_major = major;
		m->dev_minor = minor;
		m->ino = ino;
	}
	fclose(f);
}

/* Side-band: @pid maps what @m describes. */
static const struct got_dso *dso_of(uint32_t pid, const struct kmmap *m)
{
	for (uint32_t i = 0; i < got.nmmap; i++)
		if (got.mmap[i].ev.pid == pid && got.mmap[i].ev.start == m->start)
			return &got.dso[got.mmap[i].ev.dso - 1];
	fail();
	return NULL;
}

/*
 * A container that was gone before anyone looked: its file is known if another process was seen to
 * run it, otherwise not.
 */
static void test_same_inode_elsewhere(void **state)
{
	char path[4096] = "";
	struct kmmap ours, theirs;

	(void)state;
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	told_of(&ours, (uint32_t)getpid(), path);
	assert_true(ours.len);
	proctab_sampled(pt, ours.pid, ours.pid, now());
	proctab_mmap(pt, &ours);
	for (uint32_t i = 0; i < 3; i++) {
		theirs = ours;
		theirs.pid = theirs.tid = GONE + i;
		theirs.path = "/app/program";
		theirs.ino += i == 1;		/* another file */
		theirs.dev_minor += i == 2;	/* on another file system */
		exec_comm(GONE + i, "program");
		proctab_namespaces(pt, GONE + i, 1001, 0, 0);
		proctab_mmap(pt, &theirs);
		proctab_sampled(pt, GONE + i, GONE + i, now());
	}
	read_back();
	assert_true(dso_of(ours.pid, &ours)->ev.build_id_len || dso_of(ours.pid, &ours)->ev.size);
	assert_ptr_equal(dso_of(GONE, &ours), dso_of(ours.pid, &ours));
	for (uint32_t i = 1; i < 3; i++) {
		assert_ptr_not_equal(dso_of(GONE + i, &ours), dso_of(ours.pid, &ours));
		assert_int_equal(dso_of(GONE + i, &ours)->ev.build_id_len, 0);
		assert_string_equal(dso_of(GONE + i, &ours)->path, "/app/program");
	}
}

/*
 * What we mapped from @copy, which mkstemp(3) has just made: a program, reported with us as its
 * user.
 */
static void *map_program(const char *copy, int fd, struct kmmap *m)
{
	char command[64];
	void *code;

	assert_true(fd >= 0);
	/* Not our own program, which is also mapped from another inode. */
	snprintf(command, sizeof(command), "cat /bin/sleep >%s", copy);
	assert_int_equal(system(command), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(code != MAP_FAILED);
	told_of(m, (uint32_t)getpid(), copy);
	assert_true(m->len);
	proctab_sampled(pt, m->pid, m->pid, now());
	proctab_mmap(pt, m);
	return code;
}

/*
 * A file rewritten in its own inode between two containers: the first one did not run the same
 * program as the second.
 */
static void test_rewritten(void **state)
{
	char copy[] = "/var/tmp/nsprof-test.XXXXXX";
	int fd = mkstemp(copy);
	struct kmmap m;
	void *code;

	(void)state;
	code = map_program(copy, fd, &m);
	for (uint32_t i = 0; i < 2; i++) {
		m.pid = m.tid = GONE + i;
		exec_comm(m.pid, "program");
		proctab_namespaces(pt, m.pid, 1001 + i, 0, 0);
		proctab_mmap(pt, &m);
		proctab_sampled(pt, m.pid, m.pid, now());
		assert_int_equal(pwrite(fd, "another", 7, lseek(fd, 0, SEEK_END)), 7);
	}
	munmap(code, 4096);
	close(fd);
	unlink(copy);
	read_back();
	assert_ptr_equal(dso_of(GONE, &m), dso_of((uint32_t)getpid(), &m));
	assert_ptr_not_equal(dso_of(GONE + 1, &m), dso_of((uint32_t)getpid(), &m));
	assert_int_equal(dso_of(GONE + 1, &m)->ev.build_id_len, 0);
}

/*
 * Folders below @base: low is on disk, t in memory. m is an overlay of both, and its inode numbers
 * tell from which a file is.
 */
static bool mount_both(const char *base)
{
	char at[4][256], options[1024];

	for (uint32_t i = 0; i < 4; i++)
		snprintf(at[i], sizeof(at[i]), "%s/%s", base, (const char *const[]){ "t", "m", "t/up", "t/work" }[i]);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir(at[0], 0700) ||
	    mkdir(at[1], 0700) || mount("none", at[0], "tmpfs", 0, NULL) || mkdir(at[2], 0700) || mkdir(at[3], 0700))
		return false;
	snprintf(options, sizeof(options), "lowerdir=%s/low,upperdir=%s,workdir=%s,xino=on", base, at[2], at[3]);
	return !mount("overlay", at[1], "overlay", 0, options);
}

/* A child that has mapped m/program below the folder @arg; without the permission, nothing. */
static void map_of_both(int ready, int go, void *arg)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/m/program", (const char *)arg);
	if (mount_both(arg))
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(path, O_RDONLY | O_CLOEXEC), 0);
	wait_here(ready, go);
}

static void remove_below(const char *base)
{
	static const char *const names[] = { "low/program", "low", "t", "m", "" };
	char path[256];

	for (uint32_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", base, names[i]);
		remove(path);
	}
}

/*
 * A library that a process loads twice at the same addresses, rewritten in its own inode in
 * between.
 */
static void test_loaded_again(void **state)
{
	char copy[] = "/var/tmp/nsprof-test.XXXXXX", command[64];
	const struct got_dso *first = NULL, *last = NULL;
	int fd = mkstemp(copy);
	struct kmmap m;
	void *code;

	(void)state;
	code = map_program(copy, fd, &m);
	/* Reported twice, it was loaded once. */
	proctab_mmap(pt, &m);
	snprintf(command, sizeof(command), "cat /bin/cat >%s", copy);
	assert_int_equal(system(command), 0);
	proctab_mmap(pt, &m);
	proctab_mmap(pt, &m);
	munmap(code, 4096);
	close(fd);
	unlink(copy);
	read_back();
	for (uint32_t i = 0; i < got.nmmap; i++) {
		if (got.mmap[i].ev.pid != m.pid || got.mmap[i].ev.start != m.start)
			continue;
		assert_null(last);
		last = first ? &got.dso[got.mmap[i].ev.dso - 1] : NULL;
		first = first ? first : &got.dso[got.mmap[i].ev.dso - 1];
	}
	assert_non_null(last);
	assert_ptr_not_equal(first, last);
	assert_int_not_equal(last->ev.build_id_len, 0);
	assert_memory_not_equal(first->ev.build_id, last->ev.build_id, last->ev.build_id_len);
}

/*
 * An overlay of two file systems: stat(2) shows an anonymous device, and the uppermost bits of the
 * inode show the file system (xino). For mappings, older kernels report that file system's device
 * and inode.
 */
static void test_inode_of_a_layer(void **state)
{
	char base[] = "/var/tmp/nsprof-test.XXXXXX", path[256], exe[4096] = "";
	struct kmmap m;
	struct child c;

	(void)state;
	assert_non_null(mkdtemp(base));
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	snprintf(path, sizeof(path), "%s/low", base);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "cp '%s' %s/low/program", exe, base);
	assert_int_equal(system(path), 0);
	c = start(map_of_both, base);
	snprintf(path, sizeof(path), "%s/m/program", base);
	told_of(&m, (uint32_t)c.pid, path);
	if (!m.len || m.ino < 1ull << 56) {
		stop_child(&c);
		remove_below(base);
		print_message("# no overlay with such inode numbers can be mounted here\n");
		skip();
	}
	m.dev_major = 254;
	m.dev_minor = 0;
	m.ino &= (1ull << 56) - 1;
	proctab_sampled(pt, m.pid, m.pid, now());
	proctab_mmap(pt, &m);
	m.start += m.len;
	m.ino ^= 1;
	proctab_mmap(pt, &m);
	stop_child(&c);
	remove_below(base);
	read_back();
	for (uint32_t i = 0; i < got.nmmap; i++)
		if (got.mmap[i].ev.start == m.start - m.len || got.mmap[i].ev.start == m.start)
			assert_int_equal(got.dso[got.mmap[i].ev.dso - 1].ev.build_id_len != 0, got.mmap[i].ev.start < m.start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_sampled_before_exec),
		T(test_known_before_exec),
		T(test_zombie),
		T(test_hidden_in_exec),
		T(test_barred),
		T(test_sampled_without_exec),
		T(test_read_after_exec),
		T(test_parent_moved_on),
		T(test_same_inode_elsewhere),
		T(test_rewritten),
		T(test_loaded_again),
		T(test_inode_of_a_layer),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
