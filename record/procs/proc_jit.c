/*
 * Where names of a process's JIT code come from: the perf map that it writes to its /tmp, and the
 * jitdump that it has mapped (contrib/doc/jit-names.md). They are found while it lives, and prepared
 * for capture.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "capture/capture_job.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "jitdump.h"
#include "procfs/file_writer.h"
#include "procs/proc.h"

/* Sample time between two looks for a missing perf map. */
#define RETRY_NS 100000000ull

static int dup_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/*
 * A container can put anything there. And on a shared /tmp, the name may belong to a process of
 * another container.
 */
const char *perfmap_refuse(const struct proc_facts *f, const struct stat *st)
{
	const int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	const struct file_writer writer = file_writer_of(f);

	if (st->st_uid && (!f->have_fsuid || st->st_uid != f->fsuid))
		return "it belongs to another user";
	/* One second for the tick of the start time and for file systems with coarse times. */
	if (mtime + 1000000000 < proc_facts_start_wall(f->start_ticks))
		return "it is older than the process";
	/* Clocks of file systems tick 100 times a second, or once. */
	if (f->begun && st->st_mtim.tv_nsec && mtime + 20000000 < clock_wall_ns(f->begun))
		return "it is older than the program that runs now";
	return file_writer_over(&writer, st);
}

/*
 * Returns @fd, a map's file with attributes @st, if it is accepted; otherwise a negative errno. @fd
 * may be a negative errno.
 */
static int accept_map(const struct proc_facts *f, int fd, const struct stat *st, const char **why)
{
	const char *no;

	no = fd < 0 ? openwhy(OPENWHY_IT, fd) : NULL;
	*why = no ? no : *why;
	if (fd < 0)
		return fd;
	no = perfmap_refuse(f, st);
	if (!no)
		return fd;
	*why = no;
	nsopen_close(fd);
	return -EPERM;
}

/*
 * The process names the file after the pid that it sees itself, so the innermost pid comes first.
 * In a pid namespace of its own, with libraries that ask the kernel otherwise, an outer one may be
 * right. If the container is gone, its root no longer leads to a /tmp that was a mount.
 */
static int open_map(const struct proc_facts *f, const char **why)
{
	const struct rootpin *r = f->rootpin;
	struct strbuf paths = STRBUF_INIT;
	unsigned int i = 0;
	int fd = -ENOENT;

	for (uint32_t k = f->nspid_n; k--;) {
		strbuf_addf(&paths, "/tmp/perf-%" PRIu32 ".map%c", f->nspid[k], '\0');
		strbuf_addf(&paths, "perf-%" PRIu32 ".map%c", f->nspid[k], '\0');
	}
	for (bool more = r && paths.len; more; i++) {
		struct stat st;

		fd = nsopen_first(r->root.fd, r->tmp.fd, paths.s, paths.len, &i, &st);
		more = fd >= 0;
		fd = accept_map(f, fd, &st, why);
		more = more && fd < 0;
	}
	strbuf_fini(&paths);
	return fd < 0 ? -ENOENT : fd;
}

/*
 * Some runtimes can use another folder: node's --perf-basic-prof-path, DOTNET_PerfMapJitDumpPath,
 * and $TMPDIR before .NET 8. They keep the file open while they write to it.
 */
static int open_held_map(const struct proc_facts *f, int procfd, const char **why)
{
	struct stat st = { 0 };
	int fd = -ENOENT;

	for (uint32_t i = f->nspid_n; fd == -ENOENT && i--;) {
		char name[32];

		snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", f->nspid[i]);
		fd = nsopen_held(procfd, name, &st);
	}
	return accept_map(f, fd, &st, why);
}

/* @procfd: of nsopen_process(), to look among the open files, too; negative: do not. */
static void pin_map(struct proc *p, int procfd)
{
	struct proc_facts *f = p->facts;
	const char *why = NULL;
	int fd = open_map(f, &why);

	f->map_time = p->last_time;
	if (fd < 0 && procfd >= 0)
		fd = open_held_map(f, procfd, &why);
	if (fd >= 0) {
		f->map.owner = proc_pin_owner(p);
		pins_hold(&p->pt->files.pins, &f->map, fd);
		rivals_met(p->pt, f);
	} else if (why) {
		pr_verbose("perf map of process %" PRIu32 " is not used: %s", f->pid, why);
	}
}

void perfmap_pin(struct proc *p)
{
	pin_map(p, -1);
}

/*
 * A process may have another root by now without an exec: by chroot(2), pivot_root(2) or setns(2).
 * It writes there.
 */
static void look_root(struct pins *ps, struct proc_facts *f, int procfd)
{
	const uint64_t mnt_ns = proc_facts_mnt_ns(f->pid);
	struct rootpin *r = rootpin_hold(ps, nsopen_process_root(procfd), mnt_ns ? mnt_ns : f->mnt_ns);

	if (r && r != f->rootpin) {
		rootpin_put(ps, f->rootpin);
		f->rootpin = r;
		f->mnt_ns = r->mnt_ns;
	} else {
		rootpin_put(ps, r);
	}
	rootpin_look(ps, f->rootpin, procfd);
}

/* Its facts may have been read in the middle of its exec. */
static void look_image(struct proc *p, int procfd)
{
	struct proc_facts *f = p->facts;

	if (f->image)
		return;
	f->image = proc_facts_image(procfd);
	if (proc_moved_on(p, procfd, p->last_time))
		f->image = 0;
}

void perfmap_pin_late(struct proc *p)
{
	struct proc_facts *f = p->facts;
	int procfd;

	if (p->dead || p->last_time - f->map_time < RETRY_NS)
		return;
	procfd = nsopen_process(p->pid);
	if (procfd >= 0 && proc_facts_started_at(procfd, f->start_ticks)) {
		look_image(p, procfd);
		look_root(&p->pt->files.pins, f, procfd);
		/* Only once: a runtime that writes elsewhere begins before it has code to run. */
		pin_map(p, f->map_held ? -1 : procfd);
		f->map_held = true;
	} else {
		perfmap_pin(p);
	}
	if (procfd >= 0)
		close(procfd);
}

/*
 * The file held for @f, if it is still its own: the process's next program may have written to it.
 */
static int pinned_map(const struct proc_facts *f, const char **why)
{
	int fd = dup_fd(f->map.fd);
	struct stat st;

	if (fd < 0 || !f->over_time)
		return fd;
	if (nsopen_stat(fd, &st)) {
		nsopen_close(fd);
		return -1;
	}
	return accept_map(f, fd, &st, why);
}

/* Whose files the job reads: @f, which may be NULL. */
static void of_process(struct capture_job *job, const struct proc_facts *f)
{
	if (!f)
		return;
	proc_facts_on_behalf(f, f->pid);
	job->tenant = proc_facts_account(f);
	job->cgroup = xstrdup(f->cgroup);
	job->pid = f->pid;
}

void perfmap_prepare(const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs, size_t n,
		     struct capture_job *job)
{
	const struct proc_facts *chain[CAPTURE_FORKS_MAX];
	size_t len = 0;

	for (; f && len < CAPTURE_FORKS_MAX; f = f->up)
		chain[len++] = f;
	capture_job_init(job, CAPTURE_PERF_MAP, serial, comm, addrs, n);
	of_process(job, len ? chain[0] : NULL);
	while (len--) {
		job->map[job->nmaps].writer = file_writer_of(chain[len]);
		job->map[job->nmaps].pinned = capture_file(pinned_map(chain[len], &job->why));
		job->map[job->nmaps++].named = capture_file(open_map(chain[len], &job->why));
	}
}

static bool same_file(int fd, const struct stat *st)
{
	struct stat held;

	return fd >= 0 && !nsopen_stat(fd, &held) && held.st_dev == st->st_dev && held.st_ino == st->st_ino;
}

/*
 * A jitdump is found by the page of it that the JIT maps. That also proves its owner: its name has
 * a pid of an unknown namespace, and it may be anywhere.
 */
void jitdump_pin(struct proc *p, const struct map_user *u, const struct map_entry *e)
{
	struct proctab *pt = p->pt;
	struct pin *room = NULL;
	struct stat st;
	int fd, procfd;

	if (!p->facts || !e->ino || !jitdump_marks(intern_str(pt->files.paths, e->path)))
		return;
	fd = dsotab_open(&pt->files.dsos, u, e, &st);
	if (fd < 0) {
		p->facts->jit_why = openwhy(OPENWHY_IT, fd);
		p->facts->jit_late |= fd == -ETIMEDOUT;
		p->facts->jit_time = p->last_time;
		pr_verbose("jitdump of process %" PRIu32 " cannot be opened: %s", p->pid,
			   strerror(-fd));
		return;
	}
	for (size_t i = JITDUMPS_MAX; i--;) {
		struct pin *pin = &p->facts->jitdump[i];

		if (same_file(pin->fd, &st)) {
			nsopen_close(fd);
			return;
		}
		if (pin->fd < 0)
			room = pin;
	}
	if (!room) {
		pr_verbose("jitdump of process %" PRIu32 " is not used: it has %d others", p->pid, JITDUMPS_MAX);
		nsopen_close(fd);
		return;
	}
	room->owner = proc_pin_owner(p);
	pins_hold(&pt->files.pins, room, fd);
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return;
	p->facts->jit_shift = clock_mono_shift(procfd);
	close(procfd);
}

void jitdump_pin_late(struct proc *p)
{
	const struct map_user u = proc_map_user(p);
	struct proc_facts *f = p->facts;

	if (p->dead || p->last_time - f->jit_time < RETRY_NS)
		return;
	f->jit_late = false;
	f->jit_why = NULL;
	for (uint32_t i = 0; i < p->maps->n; i++)
		jitdump_pin(p, &u, &p->maps->maps[i]);
}

/* One that must not be used counts, so that readers can say why. */
static bool has_dump(const struct proc_facts *f)
{
	for (size_t i = 0; i < JITDUMPS_MAX; i++) {
		if (f->jitdump[i].fd >= 0)
			return true;
	}
	return f->jit_why;
}

bool jitdump_there(const struct proc_facts *f)
{
	while (f && !has_dump(f))
		f = f->up;
	return f;
}

static void add_dump(struct capture_job *job, const struct proc_facts *f, const struct pin *pin)
{
	struct stat st;
	int fd;

	if (pin->fd < 0 || job->ndumps == CAPTURE_DUMPS_MAX || nsopen_stat(pin->fd, &st))
		return;
	/* A jitdump mapped at the fork is the child's, too. */
	for (size_t i = 0; i < job->ndumps; i++) {
		if (same_file(job->dump[i].file.fd, &st))
			return;
	}
	fd = dup_fd(pin->fd);
	if (fd < 0)
		return;
	job->dump[job->ndumps].file = capture_file(fd);
	job->dump[job->ndumps].writer = file_writer_of(f);
	job->dump[job->ndumps++].shift = f->jit_shift;
}

/* Code compiled before a fork is in the parent's jitdump, even if the child has its own. */
void jitdump_prepare(const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs,
		     size_t n, struct capture_job *job)
{
	capture_job_init(job, CAPTURE_JITDUMP, serial, comm, addrs, n);
	of_process(job, f);
	for (size_t level = 0; f && level < CAPTURE_FORKS_MAX; f = f->up, level++) {
		for (size_t i = JITDUMPS_MAX; i--;)
			add_dump(job, f, &f->jitdump[i]);
		job->why = job->why ? job->why : f->jit_why;
	}
	job->err = job->ndumps ? 0 : -ENOENT;
}
