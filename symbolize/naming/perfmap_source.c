/* Perf maps of process images (perfmap_source.h). */
#include "naming/perfmap_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "host/parser.h"
#include "jit/perfmap_slice.h"
#include "naming/name_accounts.h"
#include "support/location.h"
#include "support/process_alive.h"
#include "support/process_runs.h"
#include "symbols/perfmap.h"

#define STATUS_MAX (64u << 10)
#define FORKS_MAX 16		/* pre-fork servers have one level, rarely two */
#define NS_PER_S 1000000000ll

struct perfmap_source {
	const struct replay *rp;
	const struct locations *ls;
	struct name_accounts *accounts;
	uint32_t *locs;			/* owned; locations that a perf map may name, by image */
	size_t *first;			/* owned; image index -> its first one in @locs */
	struct family *families;	/* owned; sorted by @old */
	size_t nfamilies, families_cap;
	struct live_map {
		bool tried;
		const char *why;	/* it was refused; static, NULL: not */
		bool found;		/* @dev and @ino are those of its map file */
		bool looked;		/* the file was looked for */
		dev_t dev;
		ino_t ino;
		struct perfmap *map;	/* owned */
	} *live;			/* by image index */
	size_t n;
};

/* An image with locations, and an image from which it was forked, or itself. */
struct family {
	uint32_t old, young;	/* image indices */
};

static int by_old(const void *pa, const void *pb)
{
	const struct family *a = pa, *b = pb;

	if (a->old != b->old)
		return a->old < b->old ? -1 : 1;
	return a->young < b->young ? -1 : a->young > b->young;
}

static bool by_perf_map(const struct location *loc)
{
	return loc->kind == LOC_NOELF || loc->kind == LOC_ANON || loc->kind == LOC_NOMAP;
}

/* Sorts the locations by image, and notes whose maps may name them. */
static void index_locations(struct perfmap_source *ps)
{
	size_t n = 0;

	ps->first = xcalloc(ps->n + 2, sizeof(*ps->first));
	for (size_t i = 0; i < ps->ls->n; i++)
		if (by_perf_map(&ps->ls->locs[i])) {
			ps->first[ps->ls->locs[i].owner + 2]++;
			n++;
		}
	for (size_t i = 2; i < ps->n + 2; i++)
		ps->first[i] += ps->first[i - 1];
	ps->locs = xcalloc(n + 1, sizeof(*ps->locs));
	for (size_t i = 0; i < ps->ls->n; i++)
		if (by_perf_map(&ps->ls->locs[i]))
			ps->locs[ps->first[ps->ls->locs[i].owner + 1]++] = (uint32_t)i;
	for (uint32_t i = 0; i < ps->n; i++) {
		const struct image *img = ps->first[i + 1] > ps->first[i] ? replay_image(ps->rp, i) : NULL;

		for (int level = 0; img && level < FORKS_MAX; level++, img = img->parent) {
			XGROW(ps->families, ps->nfamilies, ps->families_cap);
			ps->families[ps->nfamilies++] = (struct family){ img->index, i };
		}
	}
	if (ps->nfamilies)
		qsort(ps->families, ps->nfamilies, sizeof(*ps->families), by_old);
}

struct perfmap_source *perfmap_source_new(const struct replay *rp, const struct locations *ls, struct name_accounts *accounts)
{
	struct perfmap_source *ps = xcalloc(1, sizeof(*ps));

	ps->rp = rp;
	ps->ls = ls;
	ps->accounts = accounts;
	ps->n = replay_images(rp);
	ps->live = xcalloc(ps->n ? ps->n : 1, sizeof(*ps->live));
	index_locations(ps);
	return ps;
}

/* The addresses that the map of @img may name, owned. */
static uint64_t *wanted(const struct perfmap_source *ps, const struct image *img, size_t *n)
{
	const size_t at = BISECT(ps->nfamilies, i, ps->families[i].old < img->index);
	uint64_t *addrs;
	size_t k = 0;

	*n = 0;
	for (size_t i = at; i < ps->nfamilies && ps->families[i].old == img->index; i++)
		*n += ps->first[ps->families[i].young + 1] - ps->first[ps->families[i].young];
	addrs = xcalloc(*n + 1, sizeof(*addrs));
	for (size_t i = at; i < ps->nfamilies && ps->families[i].old == img->index; i++)
		for (size_t l = ps->first[ps->families[i].young]; l < ps->first[ps->families[i].young + 1]; l++)
			addrs[k++] = ps->ls->locs[ps->locs[l]].addr;
	return addrs;
}

void perfmap_source_free(struct perfmap_source *ps)
{
	size_t i;

	if (!ps)
		return;
	for (i = 0; i < ps->n; i++)
		perfmap_free(ps->live[i].map);
	free(ps->live);
	free(ps->locs);
	free(ps->first);
	free(ps->families);
	free(ps);
}

/* Is @uid one of the process's four user ids ("Uid:\t0\t0\t0\t0" in /proc/PID/status)? */
static bool uid_of_process(uint32_t pid, uid_t uid)
{
	int fd = nsopen_procfile(pid, "status"), err = 0;
	unsigned int id[4];
	bool mine = false;
	char *text;
	const char *line;
	size_t len;

	if (fd < 0)
		return false;
	text = nsopen_slurp(fd, STATUS_MAX, &len, &err);
	close(fd);
	line = text ? strstr(text, "\nUid:") : NULL;
	if (line && sscanf(line + 5, "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) == 4)
		mine = uid == id[0] || uid == id[1] || uid == id[2] || uid == id[3];
	free(text);
	return mine;
}

/*
 * Wall clock second at which a process started, from its age: boot clock now minus boot clock at
 * start.
 */
static int64_t wall_start(uint64_t start_ticks)
{
	struct timespec boot, real;
	long hz = sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &real);
	return real.tv_sec - (boot.tv_sec - (int64_t)(start_ticks / (uint64_t)(hz > 0 ? hz : 100)));
}

/*
 * Was a file last written before @time, ns of CLOCK_MONOTONIC? File systems update their clock only
 * 100 times a second.
 */
static bool older_than(const struct stat *st, uint64_t time)
{
	return st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec + NS_PER_S / 50 < clock_wall_ns(time);
}

/*
 * NULL, or why the map must not be used for @img. /tmp may be shared between containers in which
 * every process is pid 1, and anyone can leave a file there. Only files of the host's root (an agent)
 * and of the process's own user are trusted, and only if written since the process started (2 s allow
 * for rounding of the clocks) and since its exec.
 */
static const char *refuse(const struct image *img, const struct stat *st)
{
	if (st->st_uid != 0 && !uid_of_process(img->pid, st->st_uid))
		return "its perf map is not used: it belongs to another user";
	if (st->st_mtim.tv_sec + 2 < wall_start(img->start_ticks))
		return "its perf map is not used: it is older than the process";
	if (img->exec_time && st->st_mtim.tv_nsec && older_than(st, img->exec_time))
		return "its perf map is not used: it is older than the program that runs now";
	return NULL;
}

/* Is @path, of a mapping, the file @exe as /proc/PID/exe shows it? */
static bool is_file(const char *exe, const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(exe);

	if (len > strlen(deleted) && !strcmp(exe + len - strlen(deleted), deleted))
		len -= strlen(deleted);
	return path[0] == '/' && strlen(path) == len && !memcmp(exe, path, len);
}

/* Does the process of @img run that program now? */
static int still_runs(const struct image *img)
{
	struct process_runs r = { .pid = img->pid, .start_ticks = img->start_ticks };

	for (uint32_t i = 0; i < img->as->n; i++) {
		const struct mapping *m = &img->as->maps[i];

		if (m->mod && m->mod->vdso) {
			r.vdso = m->start;
		} else if (m->mod && !r.exe_start && is_file(img->exe, m->path)) {
			r.exe_start = m->start;
			r.exe_ino = m->mod->dso.ino;
			r.exe = m->path;
		}
	}
	return process_runs(&r);
}

/*
 * NULL, or why what was read of @fd must not be used for @img: its process may have begun another
 * program meanwhile, or after the recording, which writes to a file of the same name.
 */
static const char *refuse_read(const struct image *img, int fd)
{
	struct stat st;

	switch (still_runs(img)) {
	case 0:
		return nsopen_stat(fd, &st) ? "its perf map is not used: its file system does not answer" : refuse(img, &st);
	case -ESRCH:
		return "its perf map is not used: the process has ended";
	case -ESTALE:
		return "its perf map is not used: the process runs another program now";
	case -ENODATA:
		return "its perf map is not used: the recording does not show which program the process ran";
	default:
		return "its perf map is not used: what the process runs now cannot be read";
	}
}

static struct perfmap *take_map(struct perfmap_source *ps, const struct image *img, int held, const char **why)
{
	int fd = nsopen_copy(held, PERFMAP_READ_MAX), err;
	struct strbuf text = STRBUF_INIT;
	struct perfmap *pm = NULL;
	uint64_t *addrs;
	size_t n;

	if (fd < 0) {
		*why = openwhy(OPENWHY_MAP, fd);
		return NULL;
	}
	addrs = wanted(ps, img, &n);
	err = perfmap_slice(fd, addrs, n, name_accounts_room(ps->accounts, img), &text);
	if (err && !text.len)
		*why = openwhy(OPENWHY_MAP, -EIO);
	else
		pm = perfmap_new(text.s, text.len);
	close(fd);
	free(addrs);
	strbuf_fini(&text);
	return pm;
}

static struct perfmap *read_map(struct perfmap_source *ps, const struct image *img, int rootfd, uint32_t pid)
{
	const char *no, **why = &ps->live[img->index].why;
	struct perfmap *pm = NULL;
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	if (parser_avoids(PARSER_MAP | img->pid)) {
		*why = "its perf map is not used: it ended the program that read it";
		return NULL;
	}
	fd = nsopen_file(rootfd, path, 0, &st);
	if (fd < 0) {
		no = openwhy(OPENWHY_MAP, fd);
		*why = no ? no : *why;
		return NULL;
	}
	parser_working_on(PARSER_MAP | img->pid, path);
	no = refuse(img, &st);
	if (!no && !name_accounts_read(ps->accounts, img, MIN((uint64_t)st.st_size, PERFMAP_READ_MAX)))
		no = "its perf map is not used: those of its container are too large to read them all";
	if (no)
		*why = no;
	else
		pm = take_map(ps, img, fd, why);
	no = pm ? refuse_read(img, fd) : NULL;
	if (no) {
		*why = no;
		perfmap_free(pm);
		pm = NULL;
	}
	if (*why && !pm)
		pr_verbose("'%s' of process %u is not used: %s", path, img->pid, *why);
	parser_working_on(0, NULL);
	nsopen_close(fd);
	return pm;
}

/* Looks for the file with the name of @img's map, and remembers which file that is. */
static const struct live_map *look(struct perfmap_source *ps, const struct image *img)
{
	struct live_map *lm = &ps->live[img->index];
	char path[64];
	struct stat st;
	int rootfd, fd;

	if (lm->looked)
		return lm;
	lm->looked = true;
	if (img->superseded || !img->nspid_n || alive_check(img->pid, img->start_ticks))
		return lm;
	rootfd = nsopen_root(img->pid);
	if (rootfd < 0)
		return lm;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", img->nspid[img->nspid_n - 1]);
	fd = nsopen_file(rootfd, path, 0, &st);
	nsopen_close(rootfd);
	if (fd < 0)
		return lm;
	nsopen_close(fd);
	lm->found = true;
	lm->dev = st.st_dev;
	lm->ino = st.st_ino;
	return lm;
}

/*
 * If containers share /tmp, processes with the same pid in their namespaces share one map file,
 * which then describes the code of all of them. The recorder has captured the entries that are
 * certain.
 */
static bool has_rival(struct perfmap_source *ps, const struct image *img)
{
	const struct live_map *mine = look(ps, img);

	for (uint32_t i = 0; i < ps->n && mine->found; i++) {
		const struct image *other = replay_image(ps->rp, i);
		const struct live_map *lm;

		if (other->pid == img->pid || other->nspid_n < 2 ||
		    other->nspid[other->nspid_n - 1] != img->nspid[img->nspid_n - 1])
			continue;
		lm = look(ps, other);
		if (lm->found && lm->dev == mine->dev && lm->ino == mine->ino)
			return true;
	}
	return false;
}

static struct perfmap *live_map(struct perfmap_source *ps, const struct image *img)
{
	struct perfmap *pm = NULL;
	uint32_t i;
	int rootfd;

	/* After an exec, the file describes the new image. */
	if (img->superseded || !img->start_ticks || alive_check(img->pid, img->start_ticks) ||
	    has_rival(ps, img))
		return NULL;
	rootfd = nsopen_root(img->pid);
	if (rootfd < 0)
		return NULL;
	for (i = img->nspid_n; !pm && i-- > 0; )
		pm = read_map(ps, img, rootfd, img->nspid[i]);
	/*
	 * Recorded from inside a pid namespace, or without process facts: try the pid that the
	 * recording has.
	 */
	if (!pm && (!img->nspid_n || img->nspid[0] != img->pid))
		pm = read_map(ps, img, rootfd, img->pid);
	nsopen_close(rootfd);
	return pm;
}

bool perfmap_source_lookup(struct perfmap_source *ps, const struct image *img, struct avma addr,
		       const char **name)
{
	bool live = true;
	int level;

	for (level = 0; img && level < FORKS_MAX; level++, img = img->parent) {
		struct live_map *lm = &ps->live[img->index];
		const struct perfmap *captured = replay_perfmap(ps->rp, img->serial);

		/* Captured lines first: the JIT may have reused the address since the recording. */
		if (captured && perfmap_lookup(captured, addr, name))
			return true;
		live &= !captured || !perfmap_shared(captured);
		if (live && !lm->tried) {
			lm->tried = true;
			lm->map = live_map(ps, img);
		}
		if (live && lm->map && perfmap_lookup(lm->map, addr, name))
			return true;
	}
	return false;
}

const char *perfmap_source_refused(const struct perfmap_source *ps, const struct image *img)
{
	const struct live_map *lm = &ps->live[img->index];
	const struct perfmap *captured = replay_perfmap(ps->rp, img->serial);

	if (lm->map)
		return NULL;
	return lm->why ? lm->why : captured ? perfmap_refused(captured) : NULL;
}
