#include "run/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "events/perm.h"
#include "host/opener.h"
#include "host/sandbox.h"

/* _IO('$', ...) and its likes: the requests of perf events. */
#define PERF_IOCTLS 0x2400u

/* What looking at processes and cgroups takes. Their files and memory are read by openers (opener.h). */
#define LOOKS (SANDBOX_SYS_PTRACE | SANDBOX_DAC_READ_SEARCH)

static int try_event(void *unused)
{
	(void)unused;
	return perm_try_event(-1, 0, 0);
}

static int try_folder(void *path)
{
	return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) ? -errno : 0;
}

static bool folder_needs(uint64_t caps, const char *output)
{
	char *real = realpath(output, NULL), *path = real ? real : xstrdup(output);
	bool needed = sandbox_needs(caps, SANDBOX_DAC_OVERRIDE, try_folder, dirname(path));

	free(path);
	return needed;
}

static uint64_t wanted(const struct confine *c)
{
	uint64_t caps = LOOKS | (c->late_events ? SANDBOX_PERFMON : 0);

	/* Linux before 5.8, and Debian's and Ubuntu's perf_event_paranoid. */
	if (c->late_events && sandbox_needs(caps, SANDBOX_SYS_ADMIN, try_event, NULL))
		caps |= SANDBOX_SYS_ADMIN;
	/* The command may run as another user when it is time to end it. */
	if (c->child)
		caps |= SANDBOX_KILL;
	if (c->rotates && folder_needs(caps, c->output))
		caps |= SANDBOX_DAC_OVERRIDE;
	return caps;
}

void confine_prepare(struct confine *c)
{
	c->caps = wanted(c);
	if (c->kernel)
		capture_ksyms_prepare();
}

void confine_rights(const struct confine *c)
{
	int err = 0;

	/* Without a capability root still owns its files. It may read them, but not write to them. */
	if (!geteuid() && !c->rotates)
		err = sandbox_file_user(SANDBOX_NOBODY);
	if (err)
		pr_verbose("sandbox: cannot give up root's files: %s", strerror(-err));
	err = sandbox_keep(c->caps);
	if (err)
		pr_verbose("sandbox: cannot give up capabilities: %s", strerror(-err));
}

void confine_describe(const struct sandbox_state *st, int err, struct strbuf *out)
{
	strbuf_adds(out, "capabilities ");
	sandbox_cap_names(st->caps, out);
	strbuf_addf(out, "; new privileges %s; system calls %s", st->no_new_privs ? "none" : "possible",
		    st->filter && !err ? "filtered" : "not filtered");
	if (err)
		strbuf_addf(out, " (%s)", strerror(-err));
}

static void tell(int err)
{
	struct strbuf text = STRBUF_INIT;
	struct sandbox_state st;

	sandbox_state(&st);
	confine_describe(&st, err, &text);
	pr_verbose("sandbox: %s", text.s);
	strbuf_fini(&text);
}

int confine_calls(const struct confine *c)
{
	const uint64_t pid = (uint64_t)getpid(), opener = opener_pid() ? (uint64_t)opener_pid() : pid;
	const struct sandbox_call own[] = {
		{ SYS_kill, 1, 0xffffffff, pid, 0 }, { SYS_tgkill, 1, 0xffffffff, pid, 0 }, { SYS_wait4, 0, 0, 0, 0 },
		/* openers: a time limit, a copy of a file, and their end */
		{ SYS_setsockopt, 0, 0, 0, 0 }, { SYS_memfd_create, 0, 0, 0, 0 }, { SYS_kill, 1, 0xffffffff, opener, 0 },
		{ SYS_ioctl, 2, 0xff00, PERF_IOCTLS, 0 }, { SYS_openat2, 0, 0, 0, 0 },
		{ SYS_timerfd_create, 0, 0, 0, 0 }, { SYS_timerfd_settime, 0, 0, 0, 0 }, { SYS_signalfd4, 0, 0, 0, 0 },
		{ SYS_epoll_create1, 0, 0, 0, 0 }, { SYS_epoll_ctl, 0, 0, 0, 0 }, { SYS_epoll_pwait, 0, 0, 0, 0 },
#ifdef SYS_epoll_wait
		{ SYS_epoll_wait, 0, 0, 0, 0 },
#endif
		{ SYS_getpriority, 0, 0, 0, 0 }, { SYS_setpriority, 0, 0, 0, 0 },
	};
	const struct sandbox_call late[] = { { SYS_perf_event_open, 0, 0, 0, 0 } };
	const struct sandbox_call names[] = { { SYS_bpf, 1, 0xffffffff, BPF_PROG_TEST_RUN, 0 } };
	const struct sandbox_call ends[] = { { SYS_kill, 1, 0xffffffff, (uint64_t)c->child, 0 } };
	const struct sandbox_call rotates[] = {
		{ SYS_openat, 0, 0, 0, 0 }, { SYS_unlinkat, 0, 0, 0, 0 }, { SYS_renameat2, 0, 0, 0, 0 }, { SYS_renameat, 0, 0, 0, 0 },
		{ SYS_linkat, 0, 0, 0, 0 },
#ifdef __x86_64__
		{ SYS_open, 0, 0, 0, 0 }, { SYS_unlink, 0, 0, 0, 0 }, { SYS_rename, 0, 0, 0, 0 },
#endif
	};
	struct sandbox_calls lists[7] = { { own, ARRAY_SIZE(own) } };
	size_t n = 1;
	int err;

	lists[n].v = sandbox_basic_calls(&lists[n].n);
	n++;
	lists[n].v = sandbox_reading_calls(&lists[n].n);
	n++;
	if (c->late_events)
		lists[n++] = (struct sandbox_calls){ late, ARRAY_SIZE(late) };
	if (c->kernel)
		lists[n++] = (struct sandbox_calls){ names, ARRAY_SIZE(names) };
	if (c->child)
		lists[n++] = (struct sandbox_calls){ ends, ARRAY_SIZE(ends) };
	if (c->rotates)
		lists[n++] = (struct sandbox_calls){ rotates, ARRAY_SIZE(rotates) };
	err = sandbox_filter(lists, n);
	tell(err);
	return err;
}
