/* Reads from /proc what a live process maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "host/nsopen.h"
#include "host/opener_loss.h"
#include "host/procfs.h"
#include "procs/proc.h"

/* 65,536 lines with paths of 1 KiB: a process with more cannot be followed. */
#define MAPS_TEXT_MAX (64u << 20)

uint64_t proc_own_mnt_ns(const struct proc *p)
{
	return p->own && p->pt->files.own ? p->pt->files.own->mnt_ns : 0;
}

struct map_user proc_map_user(const struct proc *p)
{
	struct map_user u = { .pid = p->pid, .mnt_ns = p->mnt_ns, .tenant = p->tenant };

	/* A child that was gone before we looked ran where its parent does, unless it moved. */
	const struct proc_facts *f = p->facts ? p->facts : p->anc;

	if (p->pt->detached)
		return (struct map_user){ .mnt_ns = p->mnt_ns, .root = p->pt->files.host };
	if (f && (p->facts || !u.mnt_ns || u.mnt_ns == f->mnt_ns)) {
		u.root = f->rootpin;
		if (f->mnt_ns)
			u.mnt_ns = f->mnt_ns;
	}
	if (!u.mnt_ns)
		u.mnt_ns = proc_facts_mnt_ns(p->pid);
	if (!u.mnt_ns)
		u.mnt_ns = proc_own_mnt_ns(p);
	return u;
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
	/* The kernel's name for it in MMAP2 records. */
	e.path = m->path[0] ? proc_path(r->p, m->path, strlen(m->path)) : proc_path(r->p, "//anon", 6);
	e.kind = (uint8_t)mapping_kind(intern_str(r->p->pt->files.paths, e.path));
	return mapset_add(&r->maps, &e) == -ENOSPC ? -ENOSPC : 0;
}

int proc_read_lines(struct proc *p, int procfd, struct mapset **maps)
{
	struct reading r = { .p = p, .maps = *maps };
	struct map_user u = proc_map_user(p);
	int ret = 0;
	char *text;

	opener_about(hash_u64(p->pid), "the mappings");
	text = nsopen_text(procfd, "maps", MAPS_TEXT_MAX, NULL, &ret);
	opener_about(0, NULL);
	if (!text)
		return ret;
	ret = procfs_maps(text, read_line, &r);
	free(text);
	if (ret >= 0 && r.files.n)
		proc_find_moved(p, &u, procfd, &r.maps, &r.files);
	if (ret >= 0)
		proc_find_copies(p, &u, procfd, &r.maps);
	file_lines_fini(&r.files);
	*maps = r.maps;
	if (ret < 0)
		return ret;
	return r.lines ? 0 : -ESRCH;
}

bool proc_is_forked(const struct proc *p)
{
	return p->inherited || p->fork_time > p->exec_time;
}

/* In the middle of an exec there is a stack, but no program yet. */
static bool has_code(const struct mapset *ms)
{
	for (uint32_t i = 0; i < ms->n; i++) {
		if (ms->maps[i].kind != MAPPING_SPECIAL)
			return true;
	}
	return false;
}

bool proc_moved_on(const struct proc *p, int procfd, uint64_t time)
{
	const struct proctab *pt = p->pt;

	if (proc_is_forked(p))
		return !proc_facts_forked(procfd);
	return time && pt->side.exec_since && pt->side.exec_since(pt->side.exec_ctx, p->pid, time);
}

int proc_read_maps_at(struct proc *p, int procfd, uint64_t time, struct mapset **maps)
{
	struct mapset *now = mapset_new();
	int ret = proc_read_lines(p, procfd, &now), other;

	if (ret == -ESRCH && (other = nsopen_other_thread(procfd)) >= 0) {
		ret = proc_read_lines(p, other, &now);
		close(other);
	}
	if (!ret && (!has_code(now) || proc_moved_on(p, procfd, time)))
		ret = -ESRCH;
	if (ret)
		mapset_put(now);
	else
		*maps = now;
	return ret;
}

int proc_read_maps(struct proc *p, uint64_t time, struct mapset **maps)
{
	int procfd = nsopen_process(p->pid), ret = -ESRCH;

	if (procfd < 0)
		return procfd;
	if (!p->facts || proc_facts_started_at(procfd, p->facts->start_ticks))
		ret = proc_read_maps_at(p, procfd, time, maps);
	close(procfd);
	return ret;
}
