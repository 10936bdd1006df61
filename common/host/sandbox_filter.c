/*
 * The filter of system calls, made by libseccomp. A call that is not allowed raises SIGSYS
 * (SECCOMP_RET_TRAP in seccomp(2)). Its handler says which call it was and lets it fail with EPERM:
 * a program that forgot one goes on, and somebody hears of it.
 */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/util.h"
#include "host/sandbox.h"

#define CALLS_MAX 1024

static atomic_uchar told[CALLS_MAX];

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

/* In a signal handler: no locks, no memory. */
static void tell(int nr)
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
	tell(info->si_syscall);
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
static int make(scmp_filter_ctx ctx, const struct sandbox_calls *lists, size_t nlists)
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
	return err ? err : seccomp_load(ctx);
}

int sandbox_filter(const struct sandbox_calls *lists, size_t nlists)
{
	const struct sigaction sa = { .sa_sigaction = refused, .sa_flags = SA_SIGINFO | SA_RESTART };
	scmp_filter_ctx ctx;
	int err;

	if (SANDBOX_SANITIZED)
		return -EOPNOTSUPP;
	if (sigaction(SIGSYS, &sa, NULL))
		return -errno;
	signals_unblock(SIGSYS);
	ctx = seccomp_init(SCMP_ACT_TRAP);
	if (!ctx)
		return -ENOMEM;
	err = make(ctx, lists, nlists);
	seccomp_release(ctx);
	return err;
}
