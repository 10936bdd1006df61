/* Perf maps of process images (perfmap_source.h). */
#include "naming/perfmap_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/parser.h"
#include "support/process_alive.h"
#include "symbols/perfmap.h"

#define MAP_MAX (256u << 20)	/* bytes; larger perf maps are cut */
#define STATUS_MAX (64u << 10)
#define FORKS_MAX 16		/* pre-fork servers have one level, rarely two */
#define NS_PER_S 1000000000ll

struct perfmap_source {
	const struct replay *rp;
	struct live_map {
		bool tried;
		bool found;		/* @dev and @ino are those of its map file */
		bool looked;		/* the file was looked for */
		dev_t dev;
		ino_t ino;
		struct perfmap *map;	/* owned */
	} *live;			/* by image index */
	size_t n;
};

struct perfmap_source *perfmap_source_new(const struct replay *rp)
{
	struct perfmap_source *ps = xcalloc(1, sizeof(*ps));

	ps->rp = rp;
	ps->n = replay_images(rp);
	ps->live = xcalloc(ps->n ? ps->n : 1, sizeof(*ps->live));
	return ps;
}

void perfmap_source_free(struct perfmap_source *ps)
{
	size_t i;

	if (!ps)
		return;
	for (i = 0; i < ps->n; i++)
		perfmap_free(ps->live[i].map);
	free(ps->live);
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
	struct timespec real;
	int64_t ago;

	clock_gettime(CLOCK_REALTIME, &real);
	ago = (real.tv_sec - st->st_mtim.tv_sec) * NS_PER_S + real.tv_nsec - st->st_mtim.tv_nsec;
	return ago - NS_PER_S / 50 > (int64_t)(clock_mono_ns() - time);
}

/*
 * May the map be used for @img? /tmp may be shared between containers in which every process is pid
 * 1, and anyone can leave a file there. Only files of the host's root (an agent) and of the
 * process's own user are trusted, and only if written since the process started (2 s allow for
 * rounding of the clocks) and since its exec.
 */
static bool trusted(const struct image *img, const struct stat *st)
{
	if (st->st_uid != 0 && !uid_of_process(img->pid, st->st_uid))
		return false;
	if (img->exec_time && st->st_mtim.tv_nsec && older_than(st, img->exec_time))
		return false;
	return st->st_mtim.tv_sec + 2 >= wall_start(img->start_ticks);
}

static struct perfmap *read_map(const struct image *img, int rootfd, uint32_t pid)
{
	struct perfmap *pm = NULL;
	char path[64], *text;
	struct stat st;
	size_t len;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	if (parser_avoids(PARSER_MAP | img->pid))
		return NULL;
	fd = nsopen_file(rootfd, path, MAP_MAX, &st);
	if (fd < 0)
		return NULL;
	parser_working_on(PARSER_MAP | img->pid, path);
	if (trusted(img, &st)) {
		text = nsopen_slurp(fd, MAP_MAX, &len, &err);
		if (text)
			pm = perfmap_new(text, len);
		free(text);
	} else {
		pr_verbose("ignoring '%s' of process %u: it is another user's, or older than the process", path,
			   img->pid);
	}
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
	fd = nsopen_file(rootfd, path, MAP_MAX, &st);
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
		pm = read_map(img, rootfd, img->nspid[i]);
	/*
	 * Recorded from inside a pid namespace, or without process facts: try the pid that the
	 * recording has.
	 */
	if (!pm && (!img->nspid_n || img->nspid[0] != img->pid))
		pm = read_map(img, rootfd, img->pid);
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
