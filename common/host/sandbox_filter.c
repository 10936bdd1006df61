/*
 * The filter of system calls, made by libseccomp. A call that is not allowed raises SIGSYS
 * (SECCOMP_RET_TRAP in seccomp(2)). Its handler says which call it was and lets it fail with EPERM:
 * a program whose list lacks a call goes on, and the message shows it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/sandbox.h"

#define CALLS_MAX 1024

static atomic_uchar told[CALLS_MAX];
static atomic_int last_refused = -1;

/* Appends to a buffer that is large enough. */
static char *put(char *to, const char *text)
{
	const size_t len = strlen(text);

	memcpy(to, text, len);
	return to + len;
}

static char *put_number(char *to, unsigned int n)
{
	char digits[12];
	size_t len = 0;

	do
		digits[len++] = (char)('0' + n % 10);
	while (n /= 10);
	while (len)
		*to++ = digits[--len];
	return to;
}

int sandbox_refused(void)
{
	return atomic_load(&last_refused);
}

/* Called in a signal handler: no locks, no memory. */
void sandbox_tell_refused(int nr)
{
	char text[256], *end = text;
	ssize_t n;

	if (nr >= 0 && nr < CALLS_MAX && atomic_exchange(&told[nr], 1))
		return;
	end = put(end, log_name());
	end = put(end, ": warning: the sandbox refused system call ");
	end = put_number(end, (unsigned int)nr);
	end = put(end, ", which should not happen; please report it; --no-sandbox goes on without a sandbox\n");
	n = write(STDERR_FILENO, text, (size_t)(end - text));
	(void)n;
}

static void refused(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const int saved = errno;

	(void)signo;
	atomic_store(&last_refused, info->si_syscall);
	sandbox_tell_refused(info->si_syscall);
	errno = saved;
	/* What the call returns. */
#if defined(__x86_64__)
	uc->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
	uc->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#else
#error "which register holds the result of a system call?"
#endif
}

static int add(scmp_filter_ctx ctx, const struct sandbox_call *c)
{
	const uint32_t action = c->fails ? SCMP_ACT_ERRNO(c->fails) : SCMP_ACT_ALLOW;
	struct scmp_arg_cmp arg = { 0 };

	if (!c->arg)
		return seccomp_rule_add(ctx, action, c->nr, 0);
	arg = SCMP_CMP((unsigned int)c->arg - 1, SCMP_CMP_MASKED_EQ, c->mask, c->value);
	return seccomp_rule_add_array(ctx, action, c->nr, 1, &arg);
}

/*
 * glibc starts threads by clone3(2), whose flags lie in memory where no filter can look. Told that
 * there is no such call, it takes clone(2).
 */
static int fill(scmp_filter_ctx ctx, const struct sandbox_calls *lists, size_t nlists)
{
	int err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);

	/* A tree instead of a list of comparisons; before 2.5 libseccomp has none. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; i < nlists && !err; i++)
		for (size_t k = 0; k < lists[i].n && !err; k++)
			err = add(ctx, &lists[i].v[k]);
#ifdef SYS_clone3
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SYS_clone3, 0);
#endif
	return err;
}

/* From now on, the signal of a refused call is caught. 0 or negative errno. */
static int catch_refused(void)
{
	const struct sigaction sa = { .sa_sigaction = refused, .sa_flags = SA_SIGINFO | SA_RESTART };

	if (sigaction(SIGSYS, &sa, NULL))
		return -errno;
	signals_unblock(SIGSYS);
	return 0;
}

int sandbox_filter(const struct sandbox_calls *lists, size_t nlists)
{
	scmp_filter_ctx ctx;
	int err;

	if (SANDBOX_SANITIZED)
		return -EOPNOTSUPP;
	err = catch_refused();
	if (err)
		return err;
	ctx = seccomp_init(SCMP_ACT_TRAP);
	if (!ctx)
		return -ENOMEM;
	err = fill(ctx, lists, nlists);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err;
}

/* ---- in two steps ---- */

struct sandbox_program {
	struct sock_fprog prog;
	struct sock_filter v[BPF_MAXINSNS];
};

/* libseccomp only writes to a file. */
static int export(scmp_filter_ctx ctx, struct sandbox_program *p)
{
	int fd = memfd_create("nsprof-filter", MFD_CLOEXEC), err;
	ssize_t n;

	if (fd < 0)
		return -errno;
	err = seccomp_export_bpf(ctx, fd);
	n = err ? 0 : pread(fd, p->v, sizeof(p->v), 0);
	close(fd);
	p->prog = (struct sock_fprog){ (unsigned short)(MAX(n, 0) / (ssize_t)sizeof(p->v[0])), p->v };
	return !err && n <= 0 ? -EIO : err;
}

struct sandbox_program *sandbox_filter_make(const struct sandbox_calls *lists, size_t nlists, int *err)
{
	struct sandbox_program *p;
	scmp_filter_ctx ctx;

	*err = SANDBOX_SANITIZED ? -EOPNOTSUPP : -ENOMEM;
	ctx = SANDBOX_SANITIZED ? NULL : seccomp_init(SCMP_ACT_TRAP);
	if (!ctx)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	*err = fill(ctx, lists, nlists);
	if (!*err)
		*err = export(ctx, p);
	seccomp_release(ctx);
	if (!*err)
		return p;
	free(p);
	return NULL;
}

int sandbox_filter_load(const struct sandbox_program *p)
{
	int err = catch_refused();

	if (err)
		return err;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p->prog))
		return -errno;
	return 0;
}
