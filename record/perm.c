#include "perm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cgroup_perf.h"
#include "log.h"
#include "nsopen.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

/* PROC_USER_INIT_INO of include/linux/proc_ns.h: not in uapi, but unchanged since 3.8. */
#define FIRST_USER_NS 0xEFFFFFFDu
#define FILES_OWN 64	/* descriptors of a recorder that are neither events nor binaries */

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

uint64_t perm_files_left(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return rl.rlim_cur > FILES_OWN ? rl.rlim_cur - FILES_OWN : 0;
}

int perm_paranoid(void)
{
	return (int)perm_sysctl("perf_event_paranoid", 2);
}

int perm_try_event(int pid, int cpu, unsigned long flags)
{
	struct perf_event_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool perm_admin_only(uint64_t caps, long paranoid, int own)
{
	return own == -EACCES && paranoid >= 3 && !(caps & PERM_CAP_SYS_ADMIN);
}

bool perm_needs_admin(void)
{
	return perm_admin_only(perm_caps(), perm_paranoid(), perm_try_event(0, -1, 0));
}

#define SYSLOG_REMEDY "run as root (sudo), in a container with CAP_SYSLOG (docker run --cap-add SYSLOG)"

void perm_explain_kallsyms(uint64_t caps, long kptr, long paranoid, struct strbuf *text, struct strbuf *remedy)
{
	const bool syslog = caps & PERM_CAP_SYSLOG;

	if (kptr == PERM_SYSCTL_UNKNOWN) {
		strbuf_adds(text, "kernel.kptr_restrict cannot be read");
		if (!syslog)
			strbuf_adds(remedy, SYSLOG_REMEDY);
	} else if (kptr > 1) {
		strbuf_addf(text, "kernel.kptr_restrict is %ld, which hides them from root, too", kptr);
		strbuf_addf(remedy, "sysctl kernel.kptr_restrict=1%s", syslog ? "" : ", and " SYSLOG_REMEDY);
	} else if (syslog) {
		strbuf_addf(text, "kernel.kptr_restrict is %ld and CAP_SYSLOG is there, so something else hides them", kptr);
	} else if (kptr == 1) {
		strbuf_adds(text, "kernel.kptr_restrict is 1 and CAP_SYSLOG is missing");
		strbuf_addf(remedy, "%s, or: sysctl kernel.kptr_restrict=0%s", SYSLOG_REMEDY,
			    paranoid == PERM_SYSCTL_UNKNOWN || paranoid <= 1 ? "" : " kernel.perf_event_paranoid=1");
	} else if (paranoid > 1) {
		strbuf_addf(text, "kernel.perf_event_paranoid is %ld and CAP_SYSLOG is missing", paranoid);
		strbuf_adds(remedy, SYSLOG_REMEDY ", or: sysctl kernel.perf_event_paranoid=1");
	} else {
		strbuf_addf(text, "kernel.kptr_restrict is %ld and kernel.perf_event_paranoid is %ld, so something else "
				  "hides them", kptr, paranoid);
		strbuf_adds(remedy, SYSLOG_REMEDY);
	}
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
	if (!perm_capable() && pid > 0 && t->kind != TARGET_COMMAND && owner_of(pid, &owner) &&
	    owner != geteuid()) {
		pr_err("cannot record %s: %s: it belongs to user %u and CAP_PERFMON is missing; "
		       "run as root (sudo)", what, text, (unsigned int)owner);
		return;
	}
	if (err == -EACCES && perm_needs_admin()) {
		pr_err("cannot record %s: %s: kernel.perf_event_paranoid is %d, which only CAP_SYS_ADMIN lifts on this "
		       "kernel; " PERM_ADMIN_REMEDY "%d", what, text, perm_paranoid(),
		       perm_capable() ? 2 : pid > 0 ? 1 : -1);
		return;
	}
	if (perm_capable()) {
		pr_err("cannot record %s: %s, although CAP_PERFMON is there; a security module (or "
		       "kernel lockdown) forbids it, see dmesg", what, text);
		return;
	}
	pr_err("cannot record %s: %s: kernel.perf_event_paranoid is %d and CAP_PERFMON is missing; "
	       "run as root (sudo), or: sysctl kernel.perf_event_paranoid=%d",
	       what, text, perm_paranoid(), pid > 0 ? 1 : -1);
}

static void explain_files(int err, const struct target *t, uint64_t nfds)
{
	struct rlimit rl = { 0, 0 };
	char instead[200] = "";

	/* One for each thread and CPU, where others have one for each CPU. */
	if (target_is_tasks(t) && t->ntids > 1)
		snprintf(instead, sizeof(instead), ", or record more than these %zu threads with fewer events: the cgroup or container "
			 "that they are in (-G, --container), or everything (-a)", t->ntids);
	if (err == -ENFILE) {
		pr_err("cannot open %llu event%s: %s: the whole system has as many files open as fs.file-max allows; raise that%s",
		       (unsigned long long)nfds, plural(nfds), strerror(-err), instead);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &rl);
	pr_err("cannot open %llu event%s: %s: the limit is %llu; raise it with: ulimit -n %llu%s",
	       (unsigned long long)nfds, plural(nfds), strerror(-err), (unsigned long long)rl.rlim_max,
	       (unsigned long long)nfds + PERM_FILES_SPARE, instead);
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
		explain_files(err, t, nfds);
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

void perm_explain_cgroup(int err, const struct evsel *ev, const struct target *t, const struct cgroup *cg, uint32_t cpu,
			 uint64_t nfds)
{
	struct strbuf why = STRBUF_INIT, remedy = STRBUF_INIT;

	/* What css_tryget_online_from_dir() in kernel/cgroup/cgroup.c says of one that is being removed, and where perf_event is not. */
	if (err == -ENOENT && cgroup_removed(cg)) {
		pr_err("cannot record cgroup '%s': %s: it was removed a moment ago", cg->name, strerror(ENOENT));
	} else if (err == -ENOENT && cgroup_perf_lacks(cg)) {
		cgroup_perf_explain(&t->fs, &why, &remedy);
		pr_err("cannot record cgroup '%s': perf_event_open: %s: %s; %s", cg->name, strerror(ENOENT), why.s, remedy.s);
	} else {
		perm_explain(err, ev, t, -1, cpu, nfds);
	}
	strbuf_fini(&why);
	strbuf_fini(&remedy);
}
