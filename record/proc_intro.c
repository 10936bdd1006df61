/*
 * Getting to know a process and writing it down: facts and mappings from /proc while it lives, what
 * side-band and its parent tell when it does not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "nsopen.h"
#include "proc.h"
#include "procfs.h"
#include "util.h"

/* 65,536 lines with paths of 1 KiB: beyond that it is not a process we can follow. */
#define MAPS_TEXT_MAX (64u << 20)
/* Sample time between two readings of one process's maps. */
#define REFRESH_NS 100000000ull
/* Forks without an exec or a sample, one from the other: of a shell's subshells. */
#define ANCESTORS_MAX 8

/* The mount namespace of @p when neither side-band nor /proc tells: 0, unless it is our child's. */
static uint64_t own_mnt_ns(const struct proc *p)
{
	return p->own && p->pt->files.own ? p->pt->files.own->mnt_ns : 0;
}

static struct map_user map_user(const struct proc *p)
{
	struct map_user u = { .pid = p->pid, .mnt_ns = p->mnt_ns };

	/* A child that was gone before we looked ran where its parent does, if it did not move. */
	const struct facts *f = p->facts ? p->facts : p->anc;

	if (p->pt->detached)
		return (struct map_user){ .mnt_ns = p->mnt_ns, .root = p->pt->files.host };
	if (f && (p->facts || !u.mnt_ns || u.mnt_ns == f->mnt_ns)) {
		u.root = f->rootpin;
		if (f->mnt_ns)
			u.mnt_ns = f->mnt_ns;
	}
	if (!u.mnt_ns)
		u.mnt_ns = facts_mnt_ns(p->pid);
	if (!u.mnt_ns)
		u.mnt_ns = own_mnt_ns(p);
	return u;
}

/* ---- mappings ---- */

static void write_dso(struct proctab *pt, struct dso *d)
{
	if (d->segment == pt->segment)
		return;
	d->segment = pt->segment;
	if (!d->ev.id)
		d->ev.id = ++pt->files.next_dso;
	rec_writer_dso(pt->w, &d->ev);
}

static void write_map(struct proc *p, const struct map_entry *e, uint64_t time)
{
	struct ev_mmap ev = {
		.time = time, .pid = p->pid, .tid = p->pid,
		.start = e->start, .len = e->end - e->start, .pgoff = e->pgoff,
		.prot = e->prot, .flags = e->flags,
		.path = intern_str(p->pt->files.paths, e->path),
	};

	if (e->dso) {
		write_dso(p->pt, e->dso);
		ev.dso = e->dso->ev.id;
	}
	rec_writer_mmap(p->pt->w, &ev);
}

static void add_map(struct proc *p, struct map_entry *e, const uint8_t *build_id, size_t len, uint64_t time)
{
	struct proctab *pt = p->pt;
	struct map_user u = map_user(p);
	struct map_entry *in = mapset_find(p->maps, e->start);
	int ret;

	/*
	 * A library that is loaded again comes to lie where it was, and the kernel does not tell that it was gone. If its file was
	 * written anew meanwhile, everything about the mapping is as before but what is in it.
	 */
	if (len || (in && in->dso && dsotab_rewritten(in->dso)))
		dsotab_resolve(&pt->files.dsos, &u, e, build_id, len);
	ret = mapset_add(&p->maps, e);
	if (ret == -ENOSPC) {
		pt->files.maps_refused++;
		p->known = false;
	}
	if (ret <= 0)
		return;
	in = mapset_find(p->maps, e->start);
	/*
	 * A process without samples costs no open, unless this is a file never met: a program that
	 * runs for milliseconds is gone by the time of its first sample.
	 */
	if (!in->resolved && (p->serial || !dsotab_seen_file(&pt->files.dsos, &u, in)))
		dsotab_resolve(&pt->files.dsos, &u, in, NULL, 0);
	if (p->serial)
		jitdump_pin(p, &u, in);
	if (proc_written(p))
		write_map(p, in, time);
}

/* If side-band told of a copy of a file's code, @e becomes that file's. */
static void look_copy(struct proc *p, struct map_entry *e)
{
	struct map_user u;
	int procfd;

	if (!proc_may_be_copy(p, e))
		return;
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return;
	u = map_user(p);
	proc_find_copy(p, &u, procfd, p->maps, e);
	close(procfd);
}

void proc_add_map(struct proc *p, struct map_entry *e, const uint8_t *build_id, size_t len,
		  uint64_t time)
{
	struct mapset *now;

	switch (proc_look_moved(p, e, time, &now)) {
	case MOVED_WHOLE:
		return;
	case MOVED_NOT:
		look_copy(p, e);
		add_map(p, e, build_id, len, time);
		return;
	case MOVED_PARTS:
		add_map(p, e, build_id, len, time);
		proc_add_moved(p, e, now, time);
		return;
	}
}

struct reading {
	struct proc *p;
	struct mapset *maps;
	struct file_lines files;
	uint32_t lines;
};

static int read_line(void *ctx, const struct proc_map *m)
{
	struct reading *r = ctx;
	struct map_entry e = {
		.start = m->start, .end = m->end, .pgoff = m->pgoff, .prot = m->prot,
		.flags = m->shared ? MAP_SHARED : MAP_PRIVATE,
		.dev_major = m->dev_major, .dev_minor = m->dev_minor, .ino = m->ino,
		.deleted = m->deleted,
	};

	r->lines++;
	file_lines_see(&r->files, r->p, m);
	if (!(m->prot & PROT_EXEC))
		return 0;
	/* As the kernel names it in MMAP2 records. */
	e.path = intern_add(r->p->pt->files.paths, m->path[0] ? m->path : "//anon");
	e.kind = (uint8_t)mapping_kind(intern_str(r->p->pt->files.paths, e.path));
	return mapset_add(&r->maps, &e) == -ENOSPC ? -ENOSPC : 0;
}

/* 0, -ESRCH when the process has no memory (any more), or the errno of the reading. */
static int read_lines(int procfd, struct reading *r)
{
	int fd = nsopen_process_file(procfd, "maps"), ret = 0;
	struct map_user u = map_user(r->p);
	char *text;

	if (fd < 0)
		return fd;
	text = nsopen_slurp(fd, MAPS_TEXT_MAX, NULL, &ret);
	close(fd);
	if (!text)
		return ret;
	ret = procfs_maps(text, read_line, r);
	free(text);
	if (ret >= 0 && r->files.n)
		proc_find_moved(r->p, &u, procfd, &r->maps, &r->files);
	if (ret >= 0)
		proc_find_copies(r->p, &u, procfd, &r->maps);
	file_lines_fini(&r->files);
	if (ret < 0)
		return ret;
	return r->lines ? 0 : -ESRCH;
}

/* Is @p, where side-band has come to, a forked process that has begun no program? */
static bool is_forked(const struct proc *p)
{
	return p->inherited || p->fork_time > p->exec_time;
}

/* In the midst of an exec there is a stack, and no program yet. */
static bool has_code(const struct mapset *ms)
{
	for (uint32_t i = 0; i < ms->n; i++) {
		if (ms->maps[i].kind != MAPPING_SPECIAL)
			return true;
	}
	return false;
}

/*
 * Does @p, @time of a sample of it (0: now), run another program by now than it did where side-band has come to? Asked after
 * something was read, "no" holds for what was read.
 */
static bool moved_on(const struct proc *p, int procfd, uint64_t time)
{
	const struct proctab *pt = p->pt;

	if (is_forked(p))
		return !facts_forked(procfd);
	return time && pt->side.exec_since && pt->side.exec_since(pt->side.exec_ctx, p->pid, time);
}

/*
 * The mappings of live @p now, one reference in @maps. 0, or negative errno: -ESRCH when it has no memory (any
 * more), or runs another program by now than it did where side-band has come to.
 */
static int read_maps(struct proc *p, int procfd, uint64_t time, struct mapset **maps)
{
	struct reading r = { .p = p, .maps = mapset_new() };
	int ret = read_lines(procfd, &r), other;

	if (ret == -ESRCH && (other = nsopen_other_thread(procfd)) >= 0) {
		ret = read_lines(other, &r);
		close(other);
	}
	if (!ret && (!has_code(r.maps) || moved_on(p, procfd, time)))
		ret = -ESRCH;
	if (ret)
		mapset_put(r.maps);
	else
		*maps = r.maps;
	return ret;
}

int proc_read_maps(struct proc *p, uint64_t time, struct mapset **maps)
{
	int procfd = nsopen_process(p->pid), ret = -ESRCH;

	if (procfd < 0)
		return procfd;
	if (!p->facts || facts_started_at(procfd, p->facts->start_ticks))
		ret = read_maps(p, procfd, time, maps);
	close(procfd);
	return ret;
}

bool proc_add_present(struct proc *p, uint64_t time)
{
	struct mapset *now;

	if (proc_read_maps(p, time, &now))
		return false;
	p->known = true;
	for (uint32_t i = 0; i < now->n; i++)
		proc_add_map(p, &now->maps[i], NULL, 0, time);
	mapset_put(now);
	return true;
}

bool proc_refresh_maps(struct proc *p, uint64_t time)
{
	uint64_t before = p->maps->gen;

	if (p->kthread || p->dead || p->pt->detached || (p->refresh_time && time - p->refresh_time < REFRESH_NS))
		return false;
	p->refresh_time = time ? time : 1;
	if (!p->facts)
		return !proc_acquire(p, time) && p->maps->gen != before;
	proc_add_present(p, time);
	return p->maps->gen != before;
}

/* The vsyscall page belongs to all processes and is in no record. */
static void add_vsyscall(struct proc *p)
{
	struct map_entry e = {
		.start = 0xffffffffff600000ull, .end = 0xffffffffff601000ull, .prot = PROT_EXEC,
		.kind = MAPPING_SPECIAL, .resolved = true,
		.path = intern_add(p->pt->files.paths, "[vsyscall]"),
	};

	mapset_add(&p->maps, &e);
}

/* ---- facts ---- */

/*
 * Facts of what @p runs, unless it has begun another program by now, or has ended and is a zombie, which has neither
 * root nor namespaces: what is true of it nevertheless, then. Takes @f. 0, or -ESRCH.
 */
static int keep_facts(struct proc *p, int procfd, uint64_t time, struct facts *f)
{
	struct proctab *pt = p->pt;
	char comm[COMM_LEN];

	if (!p->comm[0])
		facts_comm(procfd, comm);
	/* What one that ended meanwhile did not tell any more, its parent's facts may. */
	if (!facts_there(procfd)) {
		facts_put(&pt->files.pins, f);
		return -ESRCH;
	}
	/* Read last, so that with a root all was read. A process that runs may hide its own from us. */
	if (moved_on(p, procfd, time) || (!*f->root && !facts_running(procfd))) {
		p->late = f;
		return -ESRCH;
	}
	p->facts = f;
	if (!p->comm[0])
		memcpy(p->comm, comm, sizeof(comm));
	/* One that was made up says only when it was seen. */
	f->begun = p->read_late ? 0 : MAX(p->exec_time, p->fork_time);
	if (!p->kthread)
		perfmap_pin(p);
	return 0;
}

static int acquire(struct proc *p, int procfd, uint64_t time)
{
	struct proctab *pt = p->pt;
	struct facts *f = facts_read(procfd, p->pid);
	struct mapset *maps;
	int ret = 0, err;

	if (!f)
		return -ESRCH;
	if (facts_started_after(f->start_ticks, time)) {
		facts_put(&pt->files.pins, f);
		return -ESRCH;
	}
	if (!p->ppid)
		p->ppid = f->ppid;
	if (is_forked(p) && !f->forked) {
		p->late = f;
		return -ESRCH;
	}
	p->kthread = f->kthread;
	if (p->kthread)
		p->known = true;
	else
		f->rootpin = rootpin_hold(&pt->files.pins, nsopen_process_root(procfd), f->mnt_ns);
	rootpin_look(&pt->files.pins, f->rootpin, procfd);
	if (!p->known)
		ret = read_maps(p, procfd, time, &maps);
	if (!p->known && !ret) {
		mapset_put(p->maps);
		p->maps = maps;
		p->known = true;
	}
	err = keep_facts(p, procfd, time, f);
	return err ? err : ret;
}

int proc_acquire(struct proc *p, uint64_t time)
{
	int procfd, ret;

	if (p->facts)
		return 0;
	if (p->pt->detached || p->late)
		return -ESRCH;
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return procfd == -ENOENT ? -ESRCH : procfd;
	ret = acquire(p, procfd, time);
	close(procfd);
	return ret;
}

static const struct map_entry *find_kind(const struct mapset *ms, enum mapping_kind kind)
{
	uint32_t i;

	for (i = 0; i < ms->n; i++) {
		if (ms->maps[i].kind == kind)
			return &ms->maps[i];
	}
	return NULL;
}

/* Does live @p run another image than the one that side-band told of? The vdso's place is drawn at each exec. */
static bool other_image(struct proc *p, int procfd)
{
	const struct map_entry *was = find_kind(p->maps, MAPPING_VDSO), *is;
	struct reading r = { .p = p };
	bool other;

	if (is_forked(p))
		return !facts_forked(procfd) && facts_there(procfd);
	if (!was)
		return false;
	r.maps = mapset_new();
	other = !read_lines(procfd, &r) && (is = find_kind(r.maps, MAPPING_VDSO)) && is->start != was->start;
	mapset_put(r.maps);
	return other;
}

bool proc_lost_exec(struct proc *p, uint64_t time, char comm[COMM_LEN])
{
	const struct proctab *pt = p->pt;
	bool other, same_process;
	int procfd;

	if (p->kthread || p->dead || !pt->side.lost_since || (p->lost_time && time - p->lost_time < REFRESH_NS))
		return false;
	p->lost_time = time;
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return false;
	same_process = !p->facts || facts_started_at(procfd, p->facts->start_ticks);
	other = other_image(p, procfd);
	facts_comm(procfd, comm);
	close(procfd);
	/* It may have begun after the sample: then its record is still to come, or was lost only then. */
	if (!same_process || pt->side.lost_since(pt->side.exec_ctx, time) || pt->side.exec_since(pt->side.exec_ctx, p->pid, time))
		return false;
	p->lost_seen = pt->side.lost;
	return other;
}

/*
 * Was @p, which ran before we looked, forked from @parent without an exec since? Then both have the
 * vdso, whose place is drawn at each exec, and the program at the same addresses.
 */
static bool same_image(const struct proc *p, const struct proc *parent)
{
	const struct map_entry *a = find_kind(p->maps, MAPPING_VDSO);
	const struct map_entry *b = find_kind(parent->maps, MAPPING_VDSO);

	if (!a || !b || a->start != b->start || !p->facts || !parent->facts)
		return false;
	a = find_kind(p->maps, MAPPING_FILE);
	b = find_kind(parent->maps, MAPPING_FILE);
	return a && b && a->start == b->start && a->path == b->path &&
	       !strcmp(p->facts->exe, parent->facts->exe);
}

/* Is @parent, in the table under the number of @p's parent, what @p was forked from: that process, and that program? */
static bool is_origin(const struct proc *parent, const struct proc *p)
{
	return !p->fork_time || (parent->fork_time <= p->fork_time && parent->exec_time <= p->fork_time);
}

/*
 * The facts of the process @p was forked from, which may never have had a sample itself, and may have been forked just
 * before, so that its own parent's are asked for: up to @depth times.
 */
static void find_ancestor(struct proc *p, uint64_t time, unsigned int depth)
{
	struct proc *parent = proctab_find(p->pt, p->ppid);

	if (p->anc || !parent || parent == p || !is_origin(parent, p))
		return;
	if (!parent->facts && !parent->dead)
		proc_acquire(parent, p->fork_time ? p->fork_time : time);
	if (!parent->facts && parent->inherited && depth)
		find_ancestor(parent, time, depth - 1);
	if (!p->inherited && !same_image(p, parent))
		return;
	p->inherited = true;
	p->anc = facts_get(parent->facts ? parent->facts : parent->anc);
	if (!p->comm[0])
		memcpy(p->comm, parent->comm, sizeof(p->comm));
	if (!p->known && parent->known) {
		mapset_put(p->maps);
		p->maps = mapset_get(parent->maps);
		p->known = true;
	}
}

/* ---- into the recording ---- */

void proc_pin_all(struct proc *p)
{
	struct map_user u = map_user(p);
	uint32_t i;

	/* In place, though others may share the set: a mapping is the same file for all of them. */
	for (i = 0; i < p->maps->n; i++) {
		struct map_entry *e = &p->maps->maps[i];

		if (!e->resolved)
			dsotab_resolve(&p->pt->files.dsos, &u, e, NULL, 0);
		else
			dsotab_pin(&p->pt->files.dsos, &u, e);
		jitdump_pin(p, &u, e);
	}
}

static void write_proc(struct proc *p, uint64_t time, bool maps_follow)
{
	/* Of a process that is gone its parent's facts say where it ran. */
	const struct facts *f = p->facts ? p->facts : p->anc, *who = proc_who(p);
	struct ev_proc ev = {
		.time = time, .serial = p->serial, .pid = p->pid, .ppid = p->ppid,
		.mnt_ns = p->mnt_ns, .pid_ns = p->pid_ns, .user_ns = p->user_ns,
		.comm = p->comm, .exe = "", .root = "", .cgroup = "",
		.maps_known = maps_follow && p->known, .inherited = p->inherited,
	};

	if (f) {
		ev.exe = f->exe;
		ev.root = f->root;
		ev.cgroup = f->cgroup;
		ev.mnt_ns = ev.mnt_ns ? ev.mnt_ns : f->mnt_ns;
		ev.pid_ns = ev.pid_ns ? ev.pid_ns : f->pid_ns;
		ev.user_ns = ev.user_ns ? ev.user_ns : f->user_ns;
	}
	if (!f && !ev.mnt_ns)
		ev.mnt_ns = own_mnt_ns(p);
	/* Where /proc had none to tell, or was not asked in time. */
	if (!ev.exe[0])
		ev.exe = intern_str(p->pt->files.paths, p->exe);
	if (who) {
		ev.cgroup = who->cgroup;
		ev.pid_ns = who->pid_ns ? who->pid_ns : ev.pid_ns;
		ev.start_ticks = who->start_ticks;
		ev.nspid_n = who->nspid_n;
		memcpy(ev.nspid, who->nspid, sizeof(ev.nspid));
	}
	rec_writer_proc(p->pt->w, &ev);
}

void proc_introduce(struct proc *p, uint64_t time)
{
	struct proctab *pt = p->pt;
	uint32_t i;

	/* An exiting task has no pid any more: the kernel writes -1 (perf_event_pid()). */
	if (p->pid == 0)
		p->known = p->kthread = true;
	else if (p->pid != UINT32_MAX)
		proc_acquire(p, time);
	/* Of a process that ran before only if its JIT code's names may be its parent's to tell. */
	if (p->read_late && p->facts && p->facts->map.fd < 0 && find_kind(p->maps, MAPPING_JIT)) {
		proctab_know(pt, p->ppid);
		find_ancestor(p, time, ANCESTORS_MAX);
	} else if (p->inherited) {
		find_ancestor(p, time, ANCESTORS_MAX);
	}
	if (p->facts && !p->facts->up && p->anc)
		p->facts->up = facts_get(p->anc);

	if (p->known && !p->kthread)
		add_vsyscall(p);
	proc_pin_all(p);
	for (i = 0; i < p->maps->n; i++) {
		if (p->maps->maps[i].dso)
			write_dso(pt, p->maps->maps[i].dso);
	}
	if (!p->serial)
		p->serial = ++pt->next_serial;
	p->segment = pt->segment;
	write_proc(p, time, true);
	for (i = 0; i < p->maps->n; i++)
		write_map(p, &p->maps->maps[i], time);
}

void proc_write_again(struct proc *p, uint64_t time)
{
	write_proc(p, time, false);
}

void proc_introduce_thread(struct proc *p, struct thread *t, uint64_t time)
{
	struct ev_comm ev = { .time = time, .pid = p->pid, .tid = t->tid, .comm = t->comm };

	t->introduced = p->pt->segment;
	/* The comm of the first thread is the process's. */
	if (t->tid == p->pid)
		return;
	if (!t->comm[0] && (p->pt->detached || !facts_thread_comm(p->pid, t->tid, t->comm)))
		memcpy(t->comm, p->comm, sizeof(t->comm));
	if (t->comm[0])
		rec_writer_comm(p->pt->w, &ev);
}
