#include "perm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "nsopen.h"
#include "strbuf.h"
#include "xalloc.h"

/* PROC_USER_INIT_INO of include/linux/proc_ns.h: not in uapi, but unchanged since 3.8. */
#define FIRST_USER_NS 0xEFFFFFFDu

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

long perm_sysctl(const char *name, long fallback)
{
	char *path = xasprintf("%s/sys/kernel/%s", nsopen_proc(), name), text[64], *end;
	bool have = read_text(path, text, sizeof(text));
	long v;

	free(path);
	if (!have)
		return fallback;
	v = strtol(text, &end, 10);
	return end == text ? fallback : v;
}

/* A field of /proc/self/status, e.g. "CapEff:\t000001ffffffffff". */
static uint64_t status_field(const char *name, int base)
{
	char text[8192], *p;

	if (!read_text("/proc/self/status", text, sizeof(text)))
		return 0;
	p = strstr(text, name);
	return p ? strtoull(p + strlen(name), NULL, base) : 0;
}

bool perm_own_user_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != FIRST_USER_NS;
}

uint64_t perm_caps(void)
{
	return perm_own_user_ns() ? 0 : status_field("\nCapEff:", 16);
}

bool perm_capable(void)
{
	return perm_caps() & (PERM_CAP_PERFMON | PERM_CAP_SYS_ADMIN);
}

/* perf_event_open() in kernel/events/core.c looks at the flags first of all, whoever asks: EINVAL for unknown ones. */
int perm_filtered(void)
{
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0ul) >= 0 || errno == EINVAL)
		return 0;
	return -errno;
}

bool perm_has_filter(void)
{
	return status_field("\nSeccomp:", 10) == 2;
}

void perm_raise_nofile(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

int perm_paranoid(void)
{
	return (int)perm_sysctl("perf_event_paranoid", 2);
}

static bool owner_of(int pid, uid_t *uid)
{
	int fd = nsopen_process((uint32_t)pid);
	struct stat st;
	bool ok;

	if (fd < 0)
		return false;
	ok = !fstat(fd, &st);
	close(fd);
	*uid = ok ? st.st_uid : 0;
	return ok;
}

static void explain_denied(int err, const char *what, const struct target *t, int pid)
{
	const char *text = strerror(-err);
	uid_t owner;

	if (err == -EPERM && perm_filtered() == err) {
		pr_err("cannot record %s: %s: perf_event_open is blocked by a seccomp filter; "
		       "start this container with --security-opt seccomp=unconfined, or record "
		       "from the host", what, text);
		return;
	}
	if (perm_capable()) {
		pr_err("cannot record %s: %s, although CAP_PERFMON is there; a security module (or "
		       "kernel lockdown) forbids it, see dmesg", what, text);
		return;
	}
	if (pid > 0 && t->kind != TARGET_COMMAND && owner_of(pid, &owner) && owner != geteuid()) {
		pr_err("cannot record %s: %s: it belongs to user %u and CAP_PERFMON is missing; "
		       "run as root (sudo)", what, text, (unsigned int)owner);
		return;
	}
	pr_err("cannot record %s: %s: kernel.perf_event_paranoid is %d and CAP_PERFMON is missing; "
	       "run as root (sudo), or: sysctl kernel.perf_event_paranoid=%d",
	       what, text, perm_paranoid(), pid > 0 ? 1 : -1);
}

static void explain_files(int err, uint64_t nfds)
{
	struct rlimit rl = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, &rl);
	pr_err("cannot open %llu events: %s: the limit is %llu; raise it with: ulimit -n %llu",
	       (unsigned long long)nfds, strerror(-err), (unsigned long long)rl.rlim_max,
	       (unsigned long long)nfds + PERM_FILES_SPARE);
}

void perm_explain(int err, const struct evsel *ev, const struct target *t, int pid, uint32_t cpu,
		  uint64_t nfds)
{
	struct strbuf what = STRBUF_INIT;
	const char *text = strerror(-err);

	strbuf_addf(&what, "event '%s' of ", ev->name);
	if (pid > 0 && t->kind != TARGET_COMMAND)
		strbuf_addf(&what, "thread %d", pid);
	else
		target_describe(t, &what);
	switch (-err) {
	case EACCES:
	case EPERM:
		explain_denied(err, what.s, t, pid);
		break;
	case ENOSYS:
		pr_err("cannot record %s: %s: this kernel has no perf events, or a seccomp filter "
		       "hides them; in a container use --security-opt seccomp=unconfined, or "
		       "record from the host", what.s, text);
		break;
	case ENOENT:
		/* Also what css_tryget_online_from_dir() in kernel/cgroup/cgroup.c says of one on its way out. */
		if (t->kind == TARGET_CGROUPS && !evsel_is_hardware(ev)) {
			pr_err("cannot record %s: %s: one of them was removed a moment ago", what.s, text);
			break;
		}
		/* fall through */
	case ENXIO:
	case EOPNOTSUPP:
		pr_err("event '%s' is not supported here: %s%s; use -e cpu-clock", ev->name, text,
		       evsel_is_hardware(ev) ? " (virtual machines often have no hardware counters)"
					     : "");
		break;
	case ENODEV:
		pr_err("cannot record %s on CPU %u: %s: is the CPU online, has it this event? try "
		       "-e cpu-clock", what.s, cpu, text);
		break;
	case ESRCH:
		pr_err("cannot record %s: %s: it has ended", what.s, text);
		break;
	case EMFILE:
	case ENFILE:
		explain_files(err, nfds);
		break;
	case EBADF:
		pr_err("cannot record %s: %s: that hierarchy has no perf_event controller; the one "
		       "that has it is at '%s'", what.s, text, t->fs.mount);
		break;
	default:
		pr_err("cannot record %s: perf_event_open: %s; try -e cpu-clock, and dmesg may say "
		       "more", what.s, text);
	}
	strbuf_fini(&what);
}
