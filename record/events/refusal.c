#include "events/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "events/cgroup_perf.h"
#include "events/perm.h"
#include "host/nsopen.h"

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

static void explain_denied(int err, const char *what, const struct evsel *ev, const struct target *t, int pid)
{
	const char *text = strerror(-err);
	/* What kernel.perf_event_paranoid has to be for people without CAP_PERFMON. */
	const int wants = ev->tracepoint || pid <= 0 ? -1 : 1;
	uid_t owner;

	if (err == -EPERM && perm_filtered() == err) {
		pr_err("cannot record %s: %s: perf_event_open is blocked by a seccomp filter; "
		       "start this container with --security-opt seccomp=unconfined, or record "
		       "from the host", what, text);
		return;
	}
	if (!perm_capable() && pid > 0 && t->kind != TARGET_COMMAND && owner_of(pid, &owner) &&
	    owner != getuid()) {
		pr_err("cannot record %s: %s: it belongs to user %u and CAP_PERFMON is missing; "
		       "run as root (sudo)", what, text, (unsigned int)owner);
		return;
	}
	if (err == -EACCES && perm_needs_admin()) {
		pr_err("cannot record %s: %s: kernel.perf_event_paranoid is %d, which only CAP_SYS_ADMIN lifts on this "
		       "kernel; " PERM_ADMIN_REMEDY "%d", what, text, perm_paranoid(),
		       perm_capable() ? 2 : wants);
		return;
	}
	if (perm_capable()) {
		pr_err("cannot record %s: %s, although CAP_PERFMON is present; a security module or "
		       "kernel lockdown forbids it, see dmesg", what, text);
		return;
	}
	pr_err("cannot record %s: %s: kernel.perf_event_paranoid is %d and CAP_PERFMON is missing; "
	       "run as root (sudo), or: sysctl kernel.perf_event_paranoid=%d",
	       what, text, perm_paranoid(), wants);
}

static void explain_files(int err, const struct target *t, uint64_t nfds)
{
	struct rlimit rl = { 0, 0 };
	char instead[200] = "";

	/* These need one event per thread and CPU; the others one per CPU. */
	if (target_is_tasks(t) && t->ntids > 1)
		snprintf(instead, sizeof(instead), ", or record the cgroup or container of these %zu threads (-G, --container), or everything "
			 "(-a), which takes fewer events", t->ntids);
	if (err == -ENFILE) {
		pr_err("cannot open %llu event%s: %s: the whole system has reached the limit of open files, fs.file-max; raise that%s",
		       (unsigned long long)nfds, plural(nfds), strerror(-err), instead);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &rl);
	pr_err("cannot open %llu event%s: %s: the limit is %llu; raise it with: ulimit -n %llu%s",
	       (unsigned long long)nfds, plural(nfds), strerror(-err), (unsigned long long)rl.rlim_max,
	       (unsigned long long)nfds + PERM_FILES_SPARE, instead);
}

static void explain_unsupported(const struct evsel *ev, const char *text)
{
	if (ev->precise && ev->pmu)
		pr_err("event '%s' is not supported here with :%.*s: %s; try it without", ev->name, ev->precise, "ppp", text);
	else if (ev->bp_type)
		pr_err("event '%s': this kernel or machine has no hardware breakpoints: %s", ev->name, text);
	else if (ev->tracepoint)
		pr_err("event '%s': this tracepoint cannot be recorded: %s; it is for ftrace only, or was removed a moment ago", ev->name,
		       text);
	else if (ev->pmu)
		pr_err("event '%s' is not supported by PMU '%s': %s; 'nsprof list %s/' shows its events", ev->name, ev->pmu, text, ev->pmu);
	else
		pr_err("event '%s' is not supported here: %s%s; use -e cpu-clock", ev->name, text,
		       evsel_is_hardware(ev) ? " (virtual machines often have no hardware counters)" : "");
}

/* Breakpoints: hw_breakpoint_arch_parse(), reserve_bp_slot(). PMUs: their event_init(). */
static void explain_invalid(int err, const struct evsel *ev, const char *what)
{
	if (ev->bp_type && err == -ENOSPC)
		pr_err("cannot record %s: %s: all breakpoint registers of the CPU are in use (x86 has four), by other events or a debugger",
		       what, strerror(-err));
	else if (ev->bp_type)
		pr_err("cannot record %s: %s: the address must be a multiple of the length, and x86 watches no reading alone: use :w or :rw",
		       what, strerror(-err));
	else
		pr_err("cannot record %s: %s: PMU '%s' cannot sample this event, only count it, or it does not know these terms", what,
		       strerror(-err), ev->pmu);
}

void refusal_explain(int err, const struct evsel *ev, const struct target *t, int pid, uint32_t cpu,
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
		explain_denied(err, what.s, ev, t, pid);
		break;
	case ENOSYS:
		pr_err("cannot record %s: %s: this kernel has no perf events, or a seccomp filter "
		       "hides them; in a container use --security-opt seccomp=unconfined, or "
		       "record from the host", what.s, text);
		break;
	case ENOENT:
	case ENXIO:
	case EOPNOTSUPP:
		explain_unsupported(ev, text);
		break;
	case ENODEV:
		pr_err("cannot record %s on CPU %u: %s: the CPU is offline or lacks this event; try "
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
		if ((err == -EINVAL && (ev->bp_type || ev->pmu)) || (err == -ENOSPC && ev->bp_type))
			explain_invalid(err, ev, what.s);
		else
			pr_err("cannot record %s: perf_event_open: %s; dmesg may say more; try -e cpu-clock", what.s, text);
	}
	strbuf_fini(&what);
}

void refusal_explain_cgroup(int err, const struct evsel *ev, const struct target *t, const struct cgroup *cg, uint32_t cpu,
			    uint64_t nfds)
{
	struct strbuf why = STRBUF_INIT, remedy = STRBUF_INIT;

	/*
	 * css_tryget_online_from_dir() in kernel/cgroup/cgroup.c returns this for a cgroup that is
	 * being removed, and where perf_event is not enabled.
	 */
	if (err == -ENOENT && cgroup_removed(cg)) {
		pr_err("cannot record cgroup '%s': %s: it was removed a moment ago", cg->name, strerror(ENOENT));
	} else if (err == -ENOENT && cgroup_perf_lacks(cg)) {
		cgroup_perf_explain(&t->fs, &why, &remedy);
		pr_err("cannot record cgroup '%s': perf_event_open: %s: %s; %s", cg->name, strerror(ENOENT), why.s, remedy.s);
	} else {
		refusal_explain(err, ev, t, -1, cpu, nfds);
	}
	strbuf_fini(&why);
	strbuf_fini(&remedy);
}
