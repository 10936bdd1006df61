/*
 * What a confined process can no longer do, tried from inside. Each case runs in a child, because
 * nothing can be taken back. What fails here is what the manual pages of seccomp(2),
 * capabilities(7), setfsuid(2) and landlock(7) say must fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "host/opener_rights.h"
#include "host/sandbox.h"

/* In a child: complains on descriptor 3 about @what unless @ok. */
static int wrong;

static void expect(const char *what, int ok)
{
	if (!ok)
		dprintf(3, "# %s: errno %d\n", what, errno);
	wrong += !ok;
}

static void fails(const char *what, long ret, int err)
{
	expect(what, ret < 0 && errno == err);
}

/* Runs @fn in a child. Its messages on standard error are kept in @said. */
static void inside(void (*fn)(void), char *said, size_t size)
{
	int fds[2], status;
	ssize_t n, len = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(STDERR_FILENO, 3);
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		fn();
		_exit(wrong ? 1 : 0);
	}
	close(fds[1]);
	while ((n = read(fds[0], said + len, size - 1 - (size_t)len)) > 0)
		len += n;
	said[len] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static int filter(void)
{
	struct sandbox_calls lists[2];

	lists[0].v = sandbox_basic_calls(&lists[0].n);
	lists[1].v = sandbox_reading_calls(&lists[1].n);
	return sandbox_filter(lists, 2);
}

static void *in_thread(void *arg)
{
	*(int *)arg = socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
	return NULL;
}

static void calls(void)
{
	int fd = open("/proc/self/status", O_RDONLY), in = 0;
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	sigset_t old;
	pthread_t t;
	void *p;

	expect("filter", !filter());
	/* what is open stays usable, and reading is allowed */
	expect("read", fd >= 0 && read(fd, &in, 1) == 1);
	expect("open to read", open("/etc/passwd", O_RDONLY) >= 0);
	fails("open to write", open("/dev/null", O_WRONLY), EPERM);
	fails("open both ways", open("/dev/null", O_RDWR), EPERM);
	fails("create", open("/tmp/nsprof-sandbox-test", O_RDONLY | O_CREAT, 0600), EPERM);
	fails("temporary file", open("/tmp", O_TMPFILE | O_RDWR, 0600), EPERM);
	fails("mkdir", mkdir("/tmp/nsprof-sandbox-test", 0700), EPERM);
	fails("unlink", unlink("/tmp/nsprof-sandbox-test"), EPERM);
	fails("rename", rename("/tmp/nsprof-sandbox-test", "/tmp/b"), EPERM);
	fails("link", symlink("a", "/tmp/nsprof-sandbox-test"), EPERM);
	fails("chmod", chmod("/tmp/nsprof-sandbox-test", 0), EPERM);
	fails("socket", socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	fails("socket again", socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	fails("execve", execv("/bin/true", argv), EPERM);
	/* fork(3) of newer C libraries blocks signals, and a blocked SIGSYS ends the process. */
	fails("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM);
	fails("ptrace", ptrace(PTRACE_ATTACH, getppid(), 0, 0), EPERM);
	fails("write to memory", syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0), EPERM);
	fails("setuid", setuid(getuid()), EPERM);
	fails("setfsuid", syscall(SYS_setfsuid, 0), EPERM);
	fails("capset", syscall(SYS_capset, NULL, NULL), EPERM);
	fails("kill", kill(getppid(), 0), EPERM);
	fails("mount", syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, NULL), EPERM);
	fails("unshare", syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
	fails("setns", syscall(SYS_setns, fd, 0), EPERM);
	fails("bpf", syscall(SYS_bpf, 0, NULL, 0), EPERM);
	fails("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0), EPERM);
	fails("io_uring", syscall(425 /* io_uring_setup */, 1, NULL), EPERM);
	fails("executable memory", (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EPERM);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect("memory", p != MAP_FAILED);
	fails("made executable", mprotect(p, 4096, PROT_READ | PROT_EXEC), EPERM);
	fails("another filter", prctl(PR_SET_SECCOMP, 2, NULL), EPERM);
	/* threads can be started, are confined as well, and do not die of it with signals blocked */
	signals_block_all(&old);
	expect("thread", !pthread_create(&t, NULL, in_thread, &in));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_join(t, NULL);
	expect("socket in a thread", in == EPERM);
}

static bool no_filters(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0;
}

static void test_calls(void **state)
{
	char said[16384];

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	if (no_filters())
		skip();
	inside(calls, said, sizeof(said));
	/* each refused call is named, once */
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "end");
	assert_int_equal(count(said, "refused system call 41,"), SYS_socket == 41);
	assert_int_equal(count(said, "refused system call 59,"), SYS_execve == 59);
}

static pthread_barrier_t both;
static int other_errno;

static void *waits(void *unused)
{
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	other_errno = socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
	return unused;
}

/* The filter also holds for threads that ran before. */
static void earlier_thread(void)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, waits, NULL);
	pthread_barrier_wait(&both);
	expect("filter", !filter());
	pthread_barrier_wait(&both);
	pthread_join(t, NULL);
	errno = other_errno;
	expect("the other thread", other_errno == EPERM);
}

static void test_earlier_thread(void **state)
{
	char said[4096];

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	if (no_filters())
		skip();
	inside(earlier_thread, said, sizeof(said));
}

static char owned[32], owned_by_group[32];

/* Files that root and its group may write to. */
static void make_owned(void)
{
	const mode_t modes[] = { 0600, 0660 };
	char *const paths[] = { owned, owned_by_group };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		int fd;

		strcpy(paths[i], "/tmp/sandbox-XXXXXX");
		fd = mkstemp(paths[i]);
		assert_true(fd >= 0);
		assert_int_equal(fchown(fd, 0, 0), 0);
		assert_int_equal(fchmod(fd, modes[i]), 0);
		close(fd);
	}
}

static void remove_owned(void)
{
	unlink(owned);
	unlink(owned_by_group);
}

static uint64_t status_field(const char *name)
{
	FILE *f = fopen("/proc/thread-self/status", "r");
	uint64_t v = UINT64_MAX;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			v = strtoull(line + strlen(name), NULL, 16);
	if (f)
		fclose(f);
	return v;
}

/* As the recorder: root that may read everything, and write nothing. */
static void root_reads(void)
{
	struct sandbox_state st;
	int status;
	pid_t pid;

	expect("file user", !sandbox_file_user(SANDBOX_NOBODY));
	expect("keep", !sandbox_keep(SANDBOX_DAC_READ_SEARCH));
	sandbox_state(&st);
	expect("state", st.caps == SANDBOX_DAC_READ_SEARCH && st.no_new_privs && !st.filter);
	expect("effective", status_field("CapEff:") == SANDBOX_DAC_READ_SEARCH);
	expect("bounding", status_field("CapBnd:") == SANDBOX_DAC_READ_SEARCH);
	expect("ambient", !status_field("CapAmb:"));
	expect("read", open(owned, O_RDONLY) >= 0);
	fails("write to root's file", open(owned, O_WRONLY), EACCES);
	fails("write to a file of root's group", open(owned_by_group, O_WRONLY), EACCES);
	/* that would name the program that the kernel runs as root for the next core dump */
	expect("write to a setting of the kernel", open("/proc/sys/kernel/core_pattern", O_WRONLY) < 0);
	fails("remove root's file", unlink(owned), EPERM);
	fails("chmod", chmod(owned, 0666), EPERM);
	fails("setuid", setuid(1), EPERM);
	fails("chroot", chroot("/"), EPERM);
	/* a program that runs as root has no more */
	pid = fork();
	if (!pid) {
		execlp("sh", "sh", "-c", "grep -q '^CapPrm:.*0004$' /proc/self/status", (char *)NULL);
		_exit(127);
	}
	expect("after exec", waitpid(pid, &status, 0) == pid && !status);
}

static void test_root_reads(void **state)
{
	char said[4096];

	(void)state;
	if (geteuid() || !(sandbox_permitted() & SANDBOX_DAC_READ_SEARCH))
		skip();
	make_owned();
	inside(root_reads, said, sizeof(said));
	remove_owned();
}

/* As an opener: the rights and calls to read everything, and nothing else. */
static void opener(void)
{
	const uint64_t reads = SANDBOX_SYS_PTRACE | SANDBOX_DAC_READ_SEARCH | SANDBOX_CHECKPOINT_RESTORE | SANDBOX_SYS_ADMIN;
	struct open_how how = { .flags = O_WRONLY };
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	struct sandbox_state st;
	char room[256];

	opener_rights_prepare();
	expect("zygote", !(sandbox_permitted() & ~(reads | SANDBOX_SYS_NICE)));
	opener_rights_give_up();
	sandbox_state(&st);
	expect("state", !(st.caps & ~reads) && st.no_new_privs && st.filter);
	expect("read", open(owned, O_RDONLY) >= 0);
	/* isatty(3) of glibc before 2.42, and since: TCGETS2 of <asm/termbits.h> */
	expect("terminal", !syscall(SYS_ioctl, 0, TCGETS, room) || errno != EPERM);
	expect("terminal of a later glibc", !syscall(SYS_ioctl, 0, 0x802c542aul, room) || errno != EPERM);
	expect("nothing was refused", sandbox_refused() < 0);
	fails("open to write", open(owned, O_WRONLY), EPERM);
	expect("that was refused", sandbox_refused() == SYS_openat);
	fails("openat2 to write", syscall(SYS_openat2, AT_FDCWD, owned, &how, sizeof(how)), EACCES);
	fails("to a file of root's group", syscall(SYS_openat2, AT_FDCWD, owned_by_group, &how, sizeof(how)), EACCES);
	expect("to a setting of the kernel",
	       syscall(SYS_openat2, AT_FDCWD, "/proc/sys/kernel/core_pattern", &how, sizeof(how)) < 0);
	fails("unlink", unlink(owned), EPERM);
	fails("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM);
	fails("execve", execv("/bin/true", argv), EPERM);
	fails("socket", socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
	fails("ptrace", ptrace(PTRACE_ATTACH, getppid(), 0, 0), EPERM);
	fails("write to memory", syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0), EPERM);
	fails("memory to write", open("/proc/1/mem", O_WRONLY), EPERM);
	fails("kill", kill(getppid(), 0), EPERM);
	fails("setfsuid", syscall(SYS_setfsuid, 0), EPERM);
	fails("ioctl", ioctl(0, TIOCSTI, ""), EPERM);
	fails("setns", syscall(SYS_setns, 0, 0), EPERM);
}

static void test_opener(void **state)
{
	const uint64_t reads = SANDBOX_SYS_PTRACE | SANDBOX_DAC_READ_SEARCH;
	char said[8192];

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	if (geteuid() || no_filters() || (sandbox_permitted() & reads) != reads)
		skip();
	make_owned();
	inside(opener, said, sizeof(said));
	remove_owned();
}

static int reads_shadow(void *path)
{
	int fd = open(path, O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -errno : 0;
}

/* Trying with fewer capabilities changes nothing. */
static void test_try(void **state)
{
	uint64_t before = sandbox_permitted(), eff = status_field("CapEff:");
	char path[] = "/tmp/sandbox-XXXXXX";
	int fd;

	(void)state;
	if (geteuid() || !(before & SANDBOX_DAC_READ_SEARCH) || !(before & SANDBOX_DAC_OVERRIDE))
		skip();
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, 4711, 4711), 0);
	close(fd);
	assert_int_equal(sandbox_try_with(SANDBOX_DAC_READ_SEARCH, reads_shadow, path), 0);
	assert_int_equal(sandbox_try_with(SANDBOX_PERFMON, reads_shadow, path), -EACCES);
	assert_true(sandbox_permitted() == before);
	assert_true(status_field("CapEff:") == eff);
	unlink(path);
}

static void no_paths(void)
{
	int fd = open("/etc/passwd", O_RDONLY);
	char c;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	expect("landlock", !sandbox_no_paths());
	expect("open file", read(fd, &c, 1) == 1);
	fails("open", open("/etc/passwd", O_RDONLY), EACCES);
	fails("open folder", open("/", O_RDONLY | O_DIRECTORY), EACCES);
	fails("create", open("/tmp/nsprof-sandbox-test", O_WRONLY | O_CREAT, 0600), EACCES);
	fails("exec", execl("/bin/true", "true", (char *)NULL), EACCES);
	fails("another process", open("/proc/1/maps", O_RDONLY), EACCES);
}

/*
 * A ruleset that only forbids to make a device: nothing that a recorder does. And yet processes outside are out
 * of reach, where no path is opened at all. So a recorder and its openers cannot have Landlock.
 */
static void least_landlock(void)
{
	const uint64_t make_char = 1ull << 6;	/* LANDLOCK_ACCESS_FS_MAKE_CHAR */
	char link[64], name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", (int)getppid());
	expect("its parent's namespace, before", readlink(name, link, sizeof(link)) > 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = (int)syscall(444 /* landlock_create_ruleset */, &make_char, sizeof(make_char), 0);
	expect("ruleset", fd >= 0);
	expect("restrict", !syscall(446 /* landlock_restrict_self */, fd, 0));
	expect("files can be read", open("/etc/passwd", O_RDONLY) >= 0);
	fails("its parent's namespace", readlink(name, link, sizeof(link)), EACCES);
	/* Its mappings are no proof: on newer kernels, CAP_PERFMON is enough for them. */
	snprintf(name, sizeof(name), "/proc/%d/mem", (int)getppid());
	fails("its parent's memory", open(name, O_RDONLY), EACCES);
	snprintf(name, sizeof(name), "/proc/%d/exe", (int)getppid());
	fails("its parent's program", open(name, O_PATH), EACCES);
	snprintf(name, sizeof(name), "/proc/%d/root", (int)getppid());
	fails("its parent's root", open(name, O_PATH), EACCES);
}

static void test_least_landlock(void **state)
{
	char said[4096];

	(void)state;
	if (!sandbox_landlock_version())
		skip();
	inside(least_landlock, said, sizeof(said));
}

static void test_no_paths(void **state)
{
	char said[4096];

	(void)state;
	if (!sandbox_landlock_version())
		skip();
	inside(no_paths, said, sizeof(said));
}

static void test_names(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	sandbox_cap_names(0, &sb);
	assert_string_equal(sb.s, "none");
	strbuf_reset(&sb);
	sandbox_cap_names(SANDBOX_PERFMON | SANDBOX_SYS_PTRACE | 1ull << 50, &sb);
	assert_string_equal(sb.s, "sys_ptrace,perfmon,0x4000000000000");
	strbuf_fini(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	  cmocka_unit_test(test_earlier_thread),
		cmocka_unit_test(test_root_reads), cmocka_unit_test(test_opener), cmocka_unit_test(test_try),
		cmocka_unit_test(test_no_paths), cmocka_unit_test(test_least_landlock),  cmocka_unit_test(test_names),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
