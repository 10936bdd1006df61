/*
 * Code that a program has copied into other memory at the same place, to get huge pages: node
 * --use-largepages, BOLT's -hugify, iodlr, HHVM. It is the file's code as before, but the kernel
 * reports anonymous memory. Such memory is a neighbouring file's if it is where that file's
 * executable segment belongs and has the same bytes.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "addr.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procs/proc.h"

/* Segments of a file are this close to each other. Code among them is worth a look at the file. */
#define NEAR (2 * HUGE_PAGE)

/* Places that are compared, and bytes of each. */
#define PLACES 32u
/* Largest file that is copied, bytes. */
#define ORIGINAL_MAX (256u << 20)
#define PLACE_BYTES 64u

/* ---- the mappings around it ---- */

static bool is_memfd(const char *path)
{
	return !strncmp(path, "/memfd:", 7);
}

bool proc_is_memory(const struct proc *p, const struct map_entry *e)
{
	return e->kind == MAPPING_JIT || is_memfd(intern_str(p->pt->files.paths, e->path));
}

static void add_line(struct file_lines *fl, struct proc *p, const struct proc_map *m)
{
	struct map_entry e = {
		.start = m->start, .end = m->end, .pgoff = m->pgoff, .prot = m->prot, .dev_major = m->dev_major,
		.dev_minor = m->dev_minor, .ino = m->ino, .deleted = m->deleted, .kind = MAPPING_FILE,
	};

	if (fl->n && fl->v[fl->n - 1].start == m->start)
		return;
	e.path = intern_add(p->pt->files.paths, m->path);
	XGROW(fl->v, fl->n, fl->cap);
	fl->v[fl->n++] = e;
}

void file_lines_see(struct file_lines *fl, struct proc *p, const struct proc_map *m)
{
	if (m->path[0] == '/' && m->ino && mapping_kind(m->path) == MAPPING_FILE && !is_memfd(m->path)) {
		if (fl->memory_end && m->start - fl->memory_end < NEAR)
			add_line(fl, p, m);
		fl->memory_end = 0;
		fl->last = *m;
		fl->near_end = m->end;
	} else if ((m->prot & PROT_EXEC) && (mapping_kind(m->path) == MAPPING_JIT || is_memfd(m->path))) {
		if (fl->near_end && m->start - fl->near_end < NEAR) {
			add_line(fl, p, &fl->last);
			fl->near_end = m->end;
		}
		fl->memory_end = m->end;
	}
}

void file_lines_fini(struct file_lines *fl)
{
	free(fl->v);
	memset(fl, 0, sizeof(*fl));
}

/* ---- proof ---- */

enum proof { PROOF_NONE, PROOF_SAME, PROOF_OTHER };

/*
 * Does @e, in the process at @procfd, have the same bytes as file @fd? A few may differ:
 * breakpoints.
 */
static enum proof compare(int procfd, int fd, const struct map_entry *e)
{
	uint8_t has[PLACE_BYTES], should[PLACE_BYTES];
	static const uint8_t zeros[PLACE_BYTES];
	unsigned int same = 0, other = 0;

	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t off = align_down((e->end - e->start) / PLACES * i, PLACE_BYTES);

		if (nsopen_memory(procfd, e->start + off, has, sizeof(has)) != sizeof(has))
			continue;
		if (pread(fd, should, sizeof(should), (off_t)(e->pgoff + off)) != sizeof(should) ||
		    !memcmp(should, zeros, sizeof(zeros)))
			continue;
		same += !memcmp(has, should, sizeof(has));
		other += !!memcmp(has, should, sizeof(has));
	}
	if (!same && !other)
		return PROOF_NONE;
	return same && other * 8 <= same ? PROOF_SAME : PROOF_OTHER;
}

/* A file that a process maps, and the process's memory. */
struct original {
	struct map_entry line;	/* its mapping, resolved */
	struct elf_file *ef;	/* NULL: not available */
	int fd;			/* of the file, to read; owned. -1: not available */
	int procfd;		/* of the process, borrowed */
};

/* The part of @e where code of @o's file belongs. False: there is none. */
static bool part_of(const struct original *o, const struct map_entry *e, struct map_entry *part)
{
	const struct map_entry *line = &o->line;
	const struct elf_load *loads;
	size_t n = elf_file_loads(o->ef, &loads);

	for (size_t i = 0; i < n; i++) {
		const struct elf_load *l = &loads[i];
		/* Runtime address minus svma, if @line is of this segment. */
		uint64_t bias = line->start - line->pgoff + l->offset - l->vaddr;

		if (line->pgoff < align_down(l->offset, MAP_PAGE) || line->pgoff >= l->offset + l->filesz)
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct elf_load *x = &loads[k];
			uint64_t start = align_down(x->vaddr, MAP_PAGE) + bias, end = align_up(x->vaddr + x->filesz, MAP_PAGE) + bias;

			if (!(x->flags & PF_X) || MAX(start, e->start) >= MIN(end, e->end))
				continue;
			*part = *line;
			part->start = MAX(start, e->start);
			part->end = MIN(end, e->end);
			part->pgoff = align_down(x->offset, MAP_PAGE) + (part->start - start);
			part->prot = e->prot;
			part->flags = e->flags;
			part->moved = true;
			/*
			 * Two segments may share a page of the file, but only one of them belongs
			 * here.
			 */
			if (compare(o->procfd, o->fd, part) != PROOF_OTHER)
				return true;
		}
	}
	return false;
}

static void close_original(struct original *o)
{
	elf_file_close(o->ef);
	if (o->fd >= 0)
		close(o->fd);
	*o = (struct original){ .fd = -1, .procfd = -1 };
}

static void open_original(struct original *o, struct proc *p, const struct map_user *u, int procfd, const struct map_entry *line)
{
	struct stat st;
	int fd, err;

	close_original(o);
	o->line = *line;
	o->procfd = procfd;
	fd = dsotab_open(&p->pt->files.dsos, u, line, &st);
	o->fd = fd < 0 ? -1 : nsopen_copy(fd, ORIGINAL_MAX);
	if (fd >= 0)
		nsopen_close(fd);
	o->ef = o->fd >= 0 ? elf_file_open_fd(o->fd, &err) : NULL;
	/*
	 * Resolve a mapping that still exists: the code's own is gone, and the file may have been
	 * removed.
	 */
	if (o->ef)
		dsotab_resolve(&p->pt->files.dsos, u, &o->line, NULL, 0);
}

/* ---- in a process that lives ---- */

/*
 * Time for one process. A program that copies its code has a few such places, each of which takes
 * some 100 us. One that has thousands does it to keep us busy.
 */
#define SEARCH_NS 10000000

void proc_find_moved(struct proc *p, const struct map_user *u, int procfd, struct mapset **maps, const struct file_lines *fl)
{
	/* The files of the lines below and above it. */
	struct original o[2] = { { .fd = -1 }, { .fd = -1 } };
	const uint64_t until = clock_mono_ns() + SEARCH_NS;

	for (uint32_t i = 0; fl->n && i < (*maps)->n && clock_mono_ns() < until; i++) {
		const struct map_entry e = (*maps)->maps[i];
		size_t above = BISECT(fl->n, k, fl->v[k].start < e.end);
		struct map_entry part;

		if (!proc_is_memory(p, &e))
			continue;
		for (size_t k = above - MIN(above, (size_t)1); k < fl->n && k <= above; k++) {
			struct original *by = &o[k % 2];
			const struct map_entry *line = &fl->v[k];

			/*
			 * A file's first page is never behind its code: memory before a library is
			 * a JIT's.
			 */
			if (line->start >= e.end && !line->pgoff)
				continue;
			if (by->line.start != line->start)
				open_original(by, p, u, procfd, line);
			if (!by->ef || !part_of(by, &e, &part))
				continue;
			pr_verbose("process %" PRIu32 ": %#" PRIx64 "-%#" PRIx64 " is a copy of code of '%s'", p->pid, part.start,
				   part.end, intern_str(p->pt->files.paths, part.path));
			mapset_add(maps, &part);
			break;
		}
	}
	close_original(&o[0]);
	close_original(&o[1]);
}
