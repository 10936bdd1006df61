#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "containers/cgroup.h"
#include "events/cgroup_perf.h"
#include "events/perm.h"
#include "events/ringplan.h"
#include "evlist/name_list.h"
#include "evlist/tracefs.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procfs/pidns.h"

#define MAPS_MAX (64u << 20)
/* Any kernel address: symbols are read until the first that has an address. */
#define KERNEL_ADDR 0xffffffff81000000ull

static struct check *add(struct doctor *d, const char *name, enum verdict verdict)
{
	struct check *c = &d->checks[d->nchecks++];

	c->name = name;
	c->verdict = verdict;
	return c;
}

/* @call on @what ("" if it has no object) failed with @err. */
static void failed(struct check *c, const char *call, const char *what, int err)
{
	c->verdict = VERDICT_NOT_OK;
	c->call = call;
	c->err = err;
	strbuf_addf(&c->text, *what ? "%s(%s): %s" : "%s%s: %s", call, what, strerror(-err));
}

static void check_trial(struct check *c, const struct trial_open *t)
{
	c->verdict = VERDICT_NOT_OK;
	c->call = t->call;
	c->err = t->err;
	trial_open_explain(t, &c->text, &c->remedy);
}

/* ---- what can be seen ---- */

static void check_pid_namespace(struct doctor *d)
{
	struct check *c = add(d, "pid namespace", VERDICT_OK);
	struct trial_open t;

	trial_open_proc(&t);
	d->numbered = !t.err;
	if (t.err) {
		check_trial(c, &t);
	} else if (!pidns_is_first()) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_adds(&c->text, "not the host's: only processes in it have a "
				      "pid in samples");
		strbuf_adds(&c->remedy, "to record more, run in the host's (hostPID: true, docker "
					"run --pid host), or on the host");
	} else if (!visible_procs_is_kthread(2)) {
		/* kthreadd has been process 2 since 2.6.24. */
		c->verdict = VERDICT_NOT_OK;
		strbuf_addf(&c->text, "the host's, but '%s' shows no kernel threads",
			    nsopen_proc());
		strbuf_addf(&c->remedy, "is it mounted with hidepid? mount -o remount,hidepid=0 %s",
			    nsopen_proc());
	} else {
		strbuf_adds(&c->text, "the host's: every process has a pid in samples");
	}
	trial_open_fini(&t);
}

static void check_processes(struct doctor *d)
{
	struct check *c = add(d, "processes", VERDICT_OK);
	struct visible_procs *n = &d->near;
	char *what;

	visible_procs_look(n);
	d->other = d->numbered ? n->choice : 0;
	if (!n->seen) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_addf(&c->text, "'%s' shows no other process", nsopen_proc());
		return;
	}
	/* Some processes may be protected from everybody. */
	if (n->err && visible_procs_hidden(n)) {
		what = xasprintf("%s/%u/%s", nsopen_proc(), n->err_pid, n->err_file);
		failed(c, "open", what, n->err);
		free(what);
		strbuf_adds(&c->text, ": ");
	}
	strbuf_addf(&c->text,
		    "%u of %u other process%s can be read, %u of them in other mount namespaces",
		    n->readable, n->seen, plural_of(n->seen, "", "es"), n->elsewhere);
	if (n->err && visible_procs_hidden(n))
		strbuf_adds(&c->remedy, "for the names of the others, run as root (sudo); in a "
					"container, add CAP_SYS_PTRACE (docker run "
					"--cap-add SYS_PTRACE)");
}

/* ---- rights ---- */

static void check_rights(struct doctor *d)
{
	struct check *c = add(d, "rights", VERDICT_OK);
	uint64_t caps = perm_caps();

	if (!perm_capable() || !(caps & PERM_CAP_SYS_PTRACE))
		c->verdict = VERDICT_NOT_OK;
	strbuf_addf(&c->text, "user %u with%s CAP_PERFMON or CAP_SYS_ADMIN, with%s CAP_SYS_PTRACE",
		    (unsigned int)geteuid(), perm_capable() ? "" : "out",
		    caps & PERM_CAP_SYS_PTRACE ? "" : "out");
	if (c->verdict == VERDICT_OK)
		return;
	if (perm_own_user_ns()) {
		strbuf_adds(&c->text, ": capabilities in a user namespace other than the host's do "
				      "not count");
		strbuf_adds(&c->remedy, "run in the host's user namespace (docker run --userns "
					"host), or as root on the host");
	} else {
		strbuf_addf(&c->remedy, "run as root (sudo); in a container: docker run --cap-add "
					"%s --cap-add SYS_PTRACE", perm_needs_admin() ? "SYS_ADMIN" : "PERFMON");
	}
}

static void check_paranoid(struct doctor *d)
{
	struct check *c = add(d, "paranoid", VERDICT_OK);
	const long v = perm_sysctl("perf_event_paranoid", PERM_SYSCTL_UNKNOWN);

	if (v == PERM_SYSCTL_UNKNOWN) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_adds(&c->text, "kernel.perf_event_paranoid cannot be read");
		return;
	}
	strbuf_addf(&c->text, "kernel.perf_event_paranoid is %ld", v);
	if (perm_needs_admin()) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_adds(&c->text, ", which only CAP_SYS_ADMIN lifts on this kernel: nothing may be recorded");
		strbuf_addf(&c->remedy, PERM_ADMIN_REMEDY "%d", perm_capable() ? 2 : -1);
	} else if (perm_capable()) {
		strbuf_addf(&c->text, ", which %s lifts",
			    perm_caps() & PERM_CAP_SYS_ADMIN ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
	} else if (v >= 0) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_addf(&c->text, ": %s",
			    v >= 2   ? "only your own processes, and only in user space"
			    : v == 1 ? "only your own processes"
				     : "CPUs and your own processes");
		strbuf_adds(&c->remedy, "run as root (sudo), or: sysctl "
					"kernel.perf_event_paranoid=-1");
	}
}

static void check_seccomp(struct doctor *d)
{
	struct check *c = add(d, "seccomp", VERDICT_OK);
	int err = perm_filtered();

	if (!err) {
		strbuf_adds(&c->text, perm_has_filter()
					      ? "a filter is in place and lets perf_event_open through"
					      : "no filter is in place");
		return;
	}
	failed(c, "perf_event_open", "", err);
	if (perm_has_filter()) {
		strbuf_adds(&c->text, ": blocked by a seccomp filter");
		strbuf_adds(&c->remedy, "start this container with --security-opt "
					"seccomp=unconfined or a profile that allows it, or record "
					"from the host");
	} else {
		strbuf_adds(&c->text, ": the kernel, or the sandbox that emulates it, has no such call");
		strbuf_adds(&c->remedy, "record from the host; if you build the kernel yourself, enable "
					"CONFIG_PERF_EVENTS");
	}
}

static void check_event(struct doctor *d, const char *name, const char *event)
{
	struct check *c = add(d, name, VERDICT_OK);
	struct trial_open t;

	trial_open_run(&t, TARGET_TIDS, event, (uint32_t)getpid());
	if (t.err)
		check_trial(c, &t);
	else
		strbuf_addf(&c->text, "perf_event_open(%s) and its rings", event);
	trial_open_fini(&t);
}

static void check_pmu(struct doctor *d)
{
	struct check *c = add(d, "hardware events", VERDICT_OK);
	const struct trial_open *t = &d->abilities[CAN_RECORD_OWN].trial;

	if (t->wanted_err) {
		failed(c, "perf_event_open", "cycles", t->wanted_err);
		strbuf_adds(&c->remedy, "cpu-clock is used instead; a virtual machine has "
					"hardware counters only if its host provides them");
	} else if (t->err) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_adds(&c->text, "no event can be opened");
	} else {
		strbuf_adds(&c->text, "perf_event_open(cycles)");
	}
}

/* Not an event: opening one would show a right that "kernel events" shows. */
static void check_tracepoints(struct doctor *d)
{
	struct check *c = add(d, "tracepoints", VERDICT_OK);
	char why[512], *remedy, **groups;
	struct tracefs t;
	size_t n;
	int err = tracefs_open(&t, NULL, why, sizeof(why));

	if (err) {
		c->verdict = VERDICT_NOT_OK;
		c->call = "open";
		c->err = err;
		remedy = strstr(why, "; ");
		strbuf_add(&c->text, why, remedy ? (size_t)(remedy - why) : strlen(why));
		if (remedy)
			strbuf_adds(&c->remedy, remedy + 2);
		return;
	}
	n = tracefs_names(&t, NULL, &groups);
	strbuf_addf(&c->text, "%s: %zu group%s", t.private_mount ? "tracefs can be mounted privately" : "tracefs is mounted", n, plural(n));
	name_list_free(groups, n);
	tracefs_close(&t);
}

static void check_kernel_names(struct doctor *d)
{
	struct check *c = add(d, "kernel names", VERDICT_OK);
	const uint64_t addr = KERNEL_ADDR;
	struct strbuf out = STRBUF_INIT;
	char *path = xasprintf("%s/kallsyms", nsopen_proc());
	int err = capture_kallsyms(&addr, 1, &out);

	if (err == -EPERM) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_addf(&c->text, "'%s' shows no addresses: ", path);
		perm_explain_kallsyms(perm_caps(), perm_sysctl("kptr_restrict", PERM_SYSCTL_UNKNOWN),
				      perm_sysctl("perf_event_paranoid", PERM_SYSCTL_UNKNOWN), &c->text, &c->remedy);
	} else if (err) {
		failed(c, "open", path, err);
	} else {
		strbuf_addf(&c->text, "'%s' shows addresses", path);
	}
	free(path);
	strbuf_fini(&out);
}

/* ---- limits ---- */

/* The trial with the most rings, or one that tells why there are none. */
static const struct trial_open *widest(const struct doctor *d)
{
	for (size_t i = 0; i < CAN_RECORD_KINDS; i++)
		if (!d->abilities[i].trial.err && d->abilities[i].trial.ncpus)
			return &d->abilities[i].trial;
	return &d->abilities[CAN_RECORD_OWN].trial;
}

static void check_mlock(struct doctor *d)
{
	struct check *c = add(d, "locked memory", VERDICT_OK);
	const struct trial_open *t = widest(d);
	struct rlimit rl = { 0, 0 };

	if (!t->map_err && t->err) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_adds(&c->text, "no event can be opened, so no ring could be mapped");
		return;
	}
	if (t->map_err) {
		getrlimit(RLIMIT_MEMLOCK, &rl);
		failed(c, "mmap", "", t->map_err);
		strbuf_adds(&c->text, ": no more can be locked; ");
		strbuf_addf(&c->remedy,
			    "raise kernel.perf_event_mlock_kb (%ld) or 'ulimit -l' (%llu KiB), or "
			    "run as root",
			    perm_sysctl("perf_event_mlock_kb", 516),
			    (unsigned long long)rl.rlim_cur / 1024);
	}
	if (t->err)
		strbuf_adds(&c->text, "no ring can be mapped");
	else
		strbuf_addf(&c->text,
			    "rings of %" PRIu64 " KiB on %s%zu CPU%s hold %" PRIu64 " ms of samples%s",
			    t->ring_bytes / 1024, plural_of(t->ncpus, "", "each of "), t->ncpus, plural(t->ncpus), t->ring_ms,
			    t->ring_ms < RING_MS ? " (250 are wanted)" : "");
}

static void check_files(struct doctor *d)
{
	struct check *c = add(d, "descriptors", VERDICT_OK);
	const uint64_t each = 2 * (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L),
		       want = each + PERM_FILES_SPARE;
	struct rlimit rl = { 0, 0 };
	char number[32];
	int fd;

	perm_raise_nofile();
	getrlimit(RLIMIT_NOFILE, &rl);
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)want - 1);
	if (fd < 0) {
		snprintf(number, sizeof(number), "F_DUPFD, %" PRIu64, want - 1);
		failed(c, "fcntl", number, -errno);
		strbuf_addf(&c->text, ": the limit is %llu", (unsigned long long)rl.rlim_max);
		strbuf_addf(&c->remedy,
			    "raise it: ulimit -n %" PRIu64 " (docker run --ulimit nofile=...); "
			    "each event and each binary held open needs one",
			    want);
		return;
	}
	close(fd);
	strbuf_addf(&c->text, "the limit is %llu", (unsigned long long)rl.rlim_max);
	if (rl.rlim_max != RLIM_INFINITY)
		strbuf_addf(&c->text, ": -p can record up to %llu threads",
			    (unsigned long long)(rl.rlim_max - PERM_FILES_SPARE) / (each / 2));
}

/* ---- sources of names, and cgroups ---- */

static int first_file(void *ctx, const struct proc_map *m)
{
	struct proc_map *found = ctx;

	if (m->path[0] != '/' || !(m->prot & PROT_EXEC))
		return 0;
	*found = *m;
	return 1;
}

/* Opens a mapping of @pid. False: it has none that could be tried. */
static bool try_mapping(struct check *c, uint32_t pid)
{
	int fd = nsopen_process(pid), err;
	char *text = fd < 0 ? NULL : nsopen_text(fd, "maps", MAPS_MAX, NULL, &err), *path;
	struct proc_map m = { .start = 0 };

	if (fd >= 0)
		close(fd);
	if (text)
		procfs_maps(text, first_file, &m);
	free(text);
	if (!m.end)
		return false;
	fd = nsopen_mapping(pid, m.start, m.end, NULL);
	if (fd >= 0) {
		nsopen_close(fd);
		return true;
	}
	/* Another process may have ended meanwhile. */
	if (fd == -ENOENT && pid != (uint32_t)getpid())
		return false;
	path = xasprintf("%s/%u/map_files/%" PRIx64 "-%" PRIx64, nsopen_proc(), pid, m.start,
			 m.end);
	failed(c, "open", path, fd);
	free(path);
	strbuf_adds(&c->remedy, "without it, binaries that are replaced or deleted while they run "
				"have no names: run as root; in a container, add "
				"CAP_CHECKPOINT_RESTORE (Linux 5.9) or CAP_SYS_ADMIN");
	return true;
}

static void check_map_files(struct doctor *d)
{
	struct check *c = add(d, "map_files", VERDICT_OK);
	bool own = d->numbered && try_mapping(c, (uint32_t)getpid()), other;

	if (c->err)
		return;
	other = d->other && try_mapping(c, d->other);
	if (c->err)
		return;
	if (!own && !other)
		c->verdict = VERDICT_UNKNOWN;
	strbuf_addf(&c->text,
		    other ? "files behind mappings can be opened, also those of process %u"
		    : own ? "files behind our own mappings can be opened; no other process "
			    "could be tried"
			  : "no mapping could be tried",
		    d->other);
}

/* Does perf_event reach the cgroups of the hierarchy? */
static void check_reach(struct check *c, const struct cgroup_fs *fs)
{
	switch (cgroup_perf_reach(fs)) {
	case CGROUP_REACH_ALL:
		break;
	case CGROUP_REACH_ROOT:
		c->verdict = VERDICT_NOT_OK;
		strbuf_adds(&c->text, ": ");
		cgroup_perf_explain(fs, &c->text, &c->remedy);
		break;
	case CGROUP_REACH_UNKNOWN:
		c->verdict = VERDICT_UNKNOWN;
		strbuf_adds(&c->text, ", but it has no cgroup to try, and no controller is enabled");
		cgroup_perf_remedy(fs, &c->remedy);
		break;
	}
}

static void check_cgroups(struct doctor *d)
{
	struct check *c = add(d, "cgroups", VERDICT_OK);
	struct cgroup_fs fs;
	struct cgroup cg;
	int err = cgroup_fs_open(&fs);

	if (err) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_addf(&c->text, "no cgroup file system is visible: %s", strerror(-err));
		strbuf_adds(&c->remedy, "mount one: mount -t cgroup2 none /sys/fs/cgroup; in a "
					"container: docker run -v /sys/fs/cgroup:/host/cgroup:ro");
		return;
	}
	strbuf_addf(&c->text, "perf_event is %s at '%s'%s", fs.v2 ? "v2" : "v1", fs.mount,
		    fs.others ? fs.v2 ? " (hybrid: v1 is mounted, too)" : " (hybrid: v2 is mounted, too)" : "");
	err = cgroup_find(&cg, &fs, "/");
	if (!err && !cgroup_is_root(&cg)) {
		c->verdict = VERDICT_NOT_OK;
		strbuf_adds(&c->text, ", only part of which is visible");
		strbuf_adds(&c->remedy, "to use -G for other cgroups, mount the host's: docker run -v "
					"/sys/fs/cgroup:/host/cgroup:ro");
	}
	if (!err)
		cgroup_fini(&cg);
	if (c->verdict == VERDICT_OK)
		check_reach(c, &fs);
	cgroup_fs_close(&fs);
}

void doctor_examine(struct doctor *d)
{
	memset(d, 0, sizeof(*d));
	check_pid_namespace(d);
	check_processes(d);
	/* The checks below report what these trials lacked. */
	can_record_try(d->abilities, &d->near, d->other);
	check_rights(d);
	check_paranoid(d);
	check_seccomp(d);
	check_event(d, "user events", "cpu-clock:u");
	check_event(d, "kernel events", "cpu-clock:k");
	check_pmu(d);
	check_tracepoints(d);
	check_kernel_names(d);
	check_mlock(d);
	check_files(d);
	check_map_files(d);
	check_cgroups(d);
	doctor_sandbox(add(d, "sandbox", VERDICT_OK));
	doctor_container_names(add(d, "container names", VERDICT_OK));
}

int doctor_status(const struct doctor *d)
{
	if (d->abilities[CAN_RECORD_ALL].works == WORKS && d->abilities[CAN_RECORD_CGROUP].works == WORKS)
		return 0;
	for (size_t i = 0; i < CAN_RECORD_KINDS; i++)
		if (d->abilities[i].works <= WORKS_IN_PART)
			return 1;
	return 2;
}

void doctor_fini(struct doctor *d)
{
	for (size_t i = 0; i < d->nchecks; i++) {
		strbuf_fini(&d->checks[i].text);
		strbuf_fini(&d->checks[i].remedy);
	}
	for (size_t i = 0; i < CAN_RECORD_KINDS; i++)
		can_record_fini(&d->abilities[i]);
}
