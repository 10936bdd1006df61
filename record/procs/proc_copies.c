/*
 * Code that a program has copied to another place. V8 wants its builtins close to the code that it
 * compiles, so that short calls reach them. It maps its file there a second time, but only if the
 * file has the device and inode that /proc/self/maps shows. With overlayfs it often does not, and
 * V8 copies the code. The kernel then reports anonymous memory, for which no perf map has a line.
 * We search for its bytes in the files that the process has mapped as code, page by page.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addr.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "procs/proc.h"

/* Size of one copy, bytes: V8's builtins are 1.5 MiB. */
#define COPY_MIN (64ull << 10)
#define COPY_MAX (64ull << 20)
/* Limit of one search in one file, bytes; compared bytes count as well. */
#define SEARCH_MAX (256ull << 20)
/* Files of a process that are tried, those with most code first. And searches for one image. */
#define FILES_MAX 3
#define LOOKS_MAX 8
/* Searches that are remembered: each process of a program needs the same. */
#define ANSWERS 64u
/* Searches take at most one part in this many of the time. */
#define TIME_SHARE 20u
#define FIRST_BYTES 64
#define CHUNK 65536

struct answer {
	uint32_t dev_major, dev_minor;	/* of the file */
	uint64_t ino;
	uint64_t len;			/* of the copy, bytes */
	uint8_t first[FIRST_BYTES];	/* its first bytes */
	uint64_t pgoff;			/* where it is in the file, bytes; UINT64_MAX = nowhere */
};

struct copies {
	struct answer v[ANSWERS];
	unsigned int n, next;
	uint64_t idle_until;		/* ns, as clock_mono_ns() */
};

void copies_free(struct proctab *pt)
{
	free(pt->files.copies);
}

static struct answer *answered(struct copies *c, const struct answer *to)
{
	for (unsigned int i = 0; i < c->n; i++) {
		struct answer *a = &c->v[i];

		if (a->dev_major == to->dev_major && a->dev_minor == to->dev_minor && a->ino == to->ino && a->len == to->len &&
		    !memcmp(a->first, to->first, FIRST_BYTES))
			return a;
	}
	return NULL;
}

static void remember(struct copies *c, const struct answer *a)
{
	c->v[c->next] = *a;
	c->next = (c->next + 1) % ANSWERS;
	c->n = MAX(c->n, c->next ? c->next : ANSWERS);
}

/*
 * Has @part, in the process at @procfd, the bytes of file @fd? Compares all of them, because
 * padding is alike everywhere. Behind the copy, the rest of its last page is 0.
 */
static bool is_same(int procfd, int fd, const struct map_entry *part)
{
	const uint64_t len = part->end - part->start;
	uint8_t has[CHUNK], should[CHUNK];

	for (uint64_t off = 0; off < len; off += CHUNK) {
		size_t n = MIN(len - off, (uint64_t)CHUNK);

		if (nsopen_memory(procfd, part->start + off, has, n) != (ssize_t)n ||
		    pread(fd, should, n, (off_t)(part->pgoff + off)) != (ssize_t)n)
			return false;
		while (off + n > len - MAP_PAGE && !has[n - 1])
			n--;
		if (memcmp(has, should, n))
			return false;
	}
	return true;
}

/*
 * Where in @fd, from @from up to @to, are the bytes that the process at @procfd has at @part? Sets part->pgoff. Tries
 * only multiples of a page: V8 would otherwise map the file there.
 */
static bool search(int procfd, int fd, struct map_entry *part, const uint8_t *first, uint64_t from, uint64_t to)
{
	const uint64_t len = part->end - part->start;
	uint8_t at[FIRST_BYTES];

	for (uint64_t off = from, bytes = 0; off + len <= to && bytes < SEARCH_MAX; off += MAP_PAGE) {
		bytes += MAP_PAGE;
		if (pread(fd, at, sizeof(at), (off_t)off) != sizeof(at))
			return false;
		if (memcmp(at, first, sizeof(at)))
			continue;
		part->pgoff = off;
		if (is_same(procfd, fd, part))
			return true;
		bytes += CHUNK;
	}
	return false;
}

/*
 * Is @e, memory of the process at @procfd, a copy of code that @line maps? Then @e becomes a mapping of that file.
 * @may: a search is allowed.
 */
static bool copy_of(struct proc *p, const struct map_user *u, int procfd, const struct map_entry *line, const uint8_t *first,
		    bool may, struct map_entry *e)
{
	struct copies *c = p->pt->files.copies;
	struct answer a = {
		.dev_major = line->dev_major, .dev_minor = line->dev_minor, .ino = line->ino, .len = e->end - e->start,
		.pgoff = UINT64_MAX,
	};
	struct map_entry part = *line;
	const struct answer *known;
	struct stat st;
	bool found;
	int held, fd;

	memcpy(a.first, first, FIRST_BYTES);
	known = answered(c, &a);
	if (known ? known->pgoff == UINT64_MAX : !may)
		return false;
	held = dsotab_open(&p->pt->files.dsos, u, line, &st);
	if (held < 0)
		return false;
	fd = nsopen_copy(held, SEARCH_MAX);
	nsopen_close(held);
	if (fd < 0)
		return false;
	part.start = e->start;
	part.end = e->end;
	part.prot = e->prot;
	part.flags = e->flags;
	part.moved = true;
	if (known) {
		found = search(procfd, fd, &part, first, known->pgoff, known->pgoff + a.len);
	} else {
		const uint64_t from = align_down(line->pgoff, MAP_PAGE);

		found = search(procfd, fd, &part, first, from, from + (line->end - line->start));
		a.pgoff = found ? part.pgoff : UINT64_MAX;
		remember(c, &a);
	}
	if (found) {
		dsotab_resolve(&p->pt->files.dsos, u, &part, NULL, 0);
		found = part.dso;
	}
	close(fd);
	if (found) {
		pr_verbose("process %" PRIu32 ": %#" PRIx64 "-%#" PRIx64 " is a copy of code of '%s'", p->pid, part.start, part.end,
			   intern_str(p->pt->files.paths, part.path));
		*e = part;
	}
	return found;
}

/*
 * Mappings of files in @ms with code enough for a copy of @len bytes, largest first. Returns how
 * many.
 */
static unsigned int files_with(const struct mapset *ms, uint64_t len, const struct map_entry **out)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < ms->n; i++) {
		const struct map_entry *m = &ms->maps[i];
		unsigned int at = n;

		if (m->kind != MAPPING_FILE || m->moved || !m->ino || m->end - m->start < len)
			continue;
		while (at && out[at - 1]->end - out[at - 1]->start < m->end - m->start)
			at--;
		if (at == FILES_MAX)
			continue;
		n = MIN(n + 1, FILES_MAX);
		memmove(&out[at + 1], &out[at], (n - at - 1) * sizeof(*out));
		out[at] = m;
	}
	return n;
}

/* Written once, and not writable any more. */
bool proc_may_be_copy(const struct proc *p, const struct map_entry *e)
{
	const uint64_t len = e->end - e->start;

	return e->kind == MAPPING_JIT && !e->moved && (e->prot & (PROT_WRITE | PROT_EXEC)) == PROT_EXEC && len >= COPY_MIN &&
	       len <= COPY_MAX && p->copy_looks < LOOKS_MAX && !p->pt->detached && !p->dead;
}

bool proc_find_copy(struct proc *p, const struct map_user *u, int procfd, const struct mapset *ms, struct map_entry *e)
{
	const struct map_entry *files[FILES_MAX];
	const uint64_t begun = clock_mono_ns();
	uint8_t first[FIRST_BYTES];
	unsigned int n;
	bool found = false, may;

	if (!proc_may_be_copy(p, e))
		return false;
	/* It counts without any such file, too: each look goes over all mappings. */
	p->copy_looks++;
	n = files_with(ms, e->end - e->start, files);
	if (!n)
		return false;
	if (!p->pt->files.copies)
		p->pt->files.copies = xcalloc(1, sizeof(*p->pt->files.copies));
	may = begun >= p->pt->files.copies->idle_until;
	if (nsopen_memory(procfd, e->start, first, sizeof(first)) == sizeof(first))
		for (unsigned int i = 0; i < n && !found; i++)
			found = copy_of(p, u, procfd, files[i], first, may, e);
	if (may)
		p->pt->files.copies->idle_until = clock_mono_ns() + (clock_mono_ns() - begun) * TIME_SHARE;
	return found;
}

void proc_find_copies(struct proc *p, const struct map_user *u, int procfd, struct mapset **maps)
{
	for (uint32_t i = 0; i < (*maps)->n; i++) {
		struct map_entry e = (*maps)->maps[i];

		if (proc_find_copy(p, u, procfd, *maps, &e))
			mapset_add(maps, &e);
	}
}
