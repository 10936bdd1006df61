/*
 * Perf maps for an import (contrib/doc/perf-data.md). perf.data shows neither the user of a process
 * nor which process had its pid later, and everybody may write to /tmp. So a file counts only if
 * its time and owner rule out everybody else.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procs/proc.h"

/* A tick of a file system with coarse times, and the error of clocks within one boot. */
#define LATER_NS INT64_C(2000000000)
/*
 * Number of files mapped at the same addresses: the program may have a fixed one, its libraries
 * never do.
 */
#define ALIKE_MIN 2
/* 65,536 lines with paths of 1 KiB. */
#define MAPS_TEXT_MAX (64u << 20)

/* A damaged file may have any times. Those beyond all clocks are clamped. */
static int64_t wall(const struct proctab *pt, uint64_t time)
{
	int64_t since = (int64_t)(time - pt->jit.host_begun), ns;

	if (__builtin_add_overflow(pt->jit.host_begun_wall, since, &ns))
		return since < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

struct likeness {
	const struct proc *p;
	unsigned int n;		/* executable mappings of files that are the recorded ones */
};

static int compare_line(void *ctx, const struct proc_map *m)
{
	struct likeness *l = ctx;
	const struct map_entry *e = m->path[0] == '/' ? mapset_find(l->p->maps, m->start) : NULL;

	l->n += e && e->start == m->start && e->end == m->end && !strcmp(intern_str(l->p->pt->files.paths, e->path), m->path);
	return 0;
}

/* Facts of the process that has the pid now, if it is @p. */
static struct proc_facts *living(const struct proc *p)
{
	struct likeness l = { .p = p };
	struct proc_facts *f = NULL;
	int procfd = nsopen_process(p->pid), err;
	char *text;

	if (procfd < 0)
		return NULL;
	text = nsopen_text(procfd, "maps", MAPS_TEXT_MAX, NULL, &err);
	if (text)
		procfs_maps(text, compare_line, &l);
	free(text);
	if (l.n >= ALIKE_MIN)
		f = proc_facts_read(procfd, p->pid);
	/* All children of one parent have the same mappings. */
	if (f && proc_facts_start_wall(f->start_ticks) > wall(p->pt, p->last_time)) {
		proc_facts_put(&p->pt->files.pins, f);
		f = NULL;
	}
	close(procfd);
	return f;
}

/* NULL, or why a file with attributes @st does not count as the perf map of @p. */
static const char *refuse(const struct proc *p, const struct stat *st)
{
	const int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	const uint64_t over = p->dead ? p->dead_time : p->over_time, begun = MAX(p->fork_time, p->exec_time);
	const struct proctab *pt = p->pt;
	struct proc_facts *f = over ? NULL : living(p);
	const char *no;

	if (begun && mtime + pt->jit.host_late < wall(pt, begun))
		return "it is older than the program";
	if (f) {
		no = perfmap_refuse(f, st);
		proc_facts_put(&p->pt->files.pins, f);
		return no;
	}
	if (st->st_uid && st->st_uid != geteuid())
		return "it belongs to another user, and the process has ended";
	if (!over)
		return "the process ended after the recording";
	if (!begun && mtime < wall(pt, pt->jit.host_begun))
		return "it is older than the recording";
	if (mtime - LATER_NS > wall(pt, over))
		return "it is younger than the process";
	return NULL;
}

int hostmap_open(const struct proc *p)
{
	const struct proctab *pt = p->pt;
	const char *no;
	struct stat st;
	char path[64];
	int fd;

	/* A container's process writes to its own /tmp, under its own pid. */
	if (!pt->jit.host_maps || !pt->files.host || (p->mnt_ns && p->mnt_ns != proc_facts_mnt_ns((uint32_t)getpid())))
		return -ENOENT;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", p->pid);
	fd = nsopen_file(pt->files.host->root.fd, path, 0, &st);
	if (fd < 0)
		return fd;
	no = refuse(p, &st);
	if (!no)
		return fd;
	pr_verbose("'%s' is not used: %s", path, no);
	nsopen_close(fd);
	return -EPERM;
}
