#include "host/parser_confine.h"

#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "host/memlimit.h"
#include "host/sandbox.h"

/* Parsers have users of their own, so that none can send signals to another. No system hands out these numbers. */
#define FIRST_USER 0x7f000000u
#define USERS 0x00ffffffu

static void limit(int what, uint64_t to)
{
	struct rlimit rl;

	if (getrlimit((__rlimit_resource_t)what, &rl) || rl.rlim_max <= to)
		return;
	rl.rlim_cur = MIN(rl.rlim_cur, (rlim_t)to);
	rl.rlim_max = to;
	setrlimit((__rlimit_resource_t)what, &rl);
}

/* Three quarters of the memory: a parser that takes all of it would get other programs killed. */
static void limit_memory(void)
{
	const uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	limit(RLIMIT_DATA, MIN(ram, memlimit_bytes()) / 4 * 3);
}

static int filter(const struct parser *p)
{
	const struct sandbox_call own[] = {
		{ SYS_tgkill, 1, 0xffffffff, (uint64_t)getpid(), 0 }, { SYS_memfd_create, 0, 0, 0, 0 },
		/* libunwind asks whether memory is there */
		{ SYS_mincore, 0, 0, 0, 0 }, { SYS_msync, 0, 0, 0, 0 },
		/* to a process that was started before and loads debug files */
		{ SYS_sendto, 5, UINT64_MAX, 0, 0 }, { SYS_recvfrom, 0, 0, 0, 0 },
		/* libdw asks in which folder a file is, to find others there */
#ifdef SYS_readlink
		{ SYS_readlink, 0, 0, 0, EACCES },
#endif
		{ SYS_readlinkat, 0, 0, 0, EACCES },
	};
	static const struct sandbox_call names[] = { { SYS_bpf, 1, 0xffffffff, BPF_PROG_TEST_RUN, 0 } };
	struct sandbox_calls lists[3] = { { own, ARRAY_SIZE(own) }, { .v = NULL }, { names, ARRAY_SIZE(names) } };

	lists[1].v = sandbox_basic_calls(&lists[1].n);
	return sandbox_filter(lists, p->kernel_names ? 3 : 2);
}

static const char *reason(int err)
{
	return err ? strerror(-err) : "yes";
}

void parser_confine(const struct parser *p, pid_t parent)
{
	int user, caps, paths, calls;

	if (SANDBOX_SANITIZED) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		return;
	}
	/* Reads /etc/localtime. */
	tzset();
	limit_memory();
	limit(RLIMIT_CORE, 0);
	user = sandbox_become(FIRST_USER + (uint32_t)getpid() % USERS);
	caps = sandbox_keep(0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	paths = sandbox_no_paths();
	calls = filter(p);
	pr_verbose("sandbox of the parser: own user: %s; no capabilities: %s; no paths: %s; system calls filtered: %s",
		   geteuid() >= FIRST_USER ? reason(user) : "not started by root", reason(caps), reason(paths), reason(calls));
}
