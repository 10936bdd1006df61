/*
 * What a recorder can no longer do once it records, tried from inside: with the lists of calls that
 * it really has, for the targets that need most. contrib/doc/sandbox.md lists what must fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "host/sandbox.h"
#include "run/confine.h"

static char owned[] = "/tmp/confine-XXXXXX";
static int wrong;

/* In a child: complains on descriptor 3 about @what unless @ok. */
static void expect(const char *what, int ok)
{
	if (!ok)
		dprintf(3, "# %s: errno %d\n", what, errno);
	wrong += !ok;
}

static void fails(const char *what, long ret)
{
	expect(what, ret < 0 && errno == EPERM);
}

static void try_calls(void)
{
	struct open_how how = { .flags = O_WRONLY };
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };

	expect("read", open("/etc/passwd", O_RDONLY) >= 0);
	expect("nothing was refused", sandbox_refused() < 0);
	fails("execve", execv("/bin/true", argv));
	fails("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	fails("socket", socket(AF_INET, SOCK_STREAM, 0));
	fails("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
	fails("ptrace", ptrace(PTRACE_ATTACH, getppid(), 0, 0));
	fails("write to memory", syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0));
	fails("signals to others", kill(getppid(), 0));
	fails("owner of signals", fcntl(STDERR_FILENO, F_SETOWN, getppid()));
	fails("a bpf map", syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
	fails("open to write", open(owned, O_WRONLY));
	fails("create", open("/tmp/nsprof-confine-test", O_RDONLY | O_CREAT, 0600));
	fails("unlink", unlink(owned));
	fails("rename", rename(owned, "/tmp/nsprof-confine-test"));
	fails("link", link(owned, "/tmp/nsprof-confine-test"));
	fails("chmod", chmod(owned, 0666));
	fails("setuid", setuid(getuid()));
	fails("setresuid", syscall(SYS_setresuid, 0, 0, 0));
	fails("setfsuid", syscall(SYS_setfsuid, 0));
	fails("capset", syscall(SYS_capset, NULL, NULL));
	fails("mount", syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, NULL));
	fails("setns", syscall(SYS_setns, 0, 0));
	fails("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
	fails("terminal input", ioctl(STDIN_FILENO, TIOCSTI, ""));
	/* Its flags lie in memory, where no filter looks. */
	if (!getuid()) {
		expect("openat2 to write", syscall(SYS_openat2, AT_FDCWD, owned, &how, sizeof(how)) < 0);
		expect("a setting of the kernel",
		       syscall(SYS_openat2, AT_FDCWD, "/proc/sys/kernel/core_pattern", &how, sizeof(how)) < 0);
		expect("memory of the first process", syscall(SYS_openat2, AT_FDCWD, "/proc/1/mem", &how, sizeof(how)) < 0);
	}
}

static void test_confined(void **state)
{
	struct confine c = { .late_events = true, .kernel = true };
	int status, fd = mkstemp(owned), null;
	pid_t pid;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		skip();
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		/* The sandbox names each call that it refuses. */
		dup2(STDERR_FILENO, 3);
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDERR_FILENO);
		confine_prepare(&c);
		confine_rights(&c);
		expect("filter", !confine_calls(&c));
		try_calls();
		_exit(wrong ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(owned);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_confined) };

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
