#include "procs/hostmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
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
/* A number in a request, and the blank before it. */
#define NUMBER_LEN 17
/* An hour. What import takes for a clock that may be off is less. */
#define LATE_MAX INT64_C(3600000000000)

/* What is known of the process. Times are of the wall clock, ns. */
struct facts {
	uint32_t pid;
	bool has_begun, has_over;
	bool over_exec;			/* it runs another program since */
	int64_t begun, over;		/* of its program and its end, if they are known */
	int64_t last;			/* its latest sample */
	int64_t host_begun, late;	/* of the recording, and how far the clock may be off */
	struct u64map alike;		/* owned: hashes of its mappings */
};

/* A damaged file may have any times. Those beyond all clocks are clamped. */
static int64_t wall(const struct proctab *pt, uint64_t time)
{
	int64_t since = (int64_t)(time - pt->jit.host_begun), ns;

	if (__builtin_add_overflow(pt->jit.host_begun_wall, since, &ns))
		return since < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static uint64_t hash_mapping(uint64_t start, uint64_t end, const char *path)
{
	return hash_combine(hash_combine(hash_u64(start), end), hash_bytes(path, strlen(path)));
}

static void gather(struct facts *k, const struct proc *p)
{
	const struct proctab *pt = p->pt;
	const uint64_t over = p->dead ? p->dead_time : p->over_time, begun = MAX(p->fork_time, p->exec_time);

	*k = (struct facts){
		.pid = p->pid, .has_begun = begun, .has_over = over, .over_exec = over && !p->dead, .begun = wall(pt, begun), .over = wall(pt, over),
		.last = wall(pt, p->last_time), .host_begun = wall(pt, pt->jit.host_begun), .late = pt->jit.host_late,
	};
	for (uint32_t i = 0; i < p->maps->n; i++) {
		const struct map_entry *e = &p->maps->maps[i];
		const char *path = intern_str(pt->files.paths, e->path);

		if (path[0] == '/')
			u64map_put(&k->alike, hash_mapping(e->start, e->end, path), NULL);
	}
}

/* ---- judging ---- */

struct likeness {
	const struct facts *k;
	unsigned int n;		/* mappings of files that are the recorded ones */
};

static int compare_line(void *ctx, const struct proc_map *m)
{
	struct likeness *l = ctx;

	l->n += m->path[0] == '/' && u64map_get(&l->k->alike, hash_mapping(m->start, m->end, m->path));
	return 0;
}

/* Facts of the process that has the pid now, if it is the recorded one. */
static struct proc_facts *living(const struct facts *k, struct pins *pins)
{
	struct likeness l = { .k = k };
	struct proc_facts *f = NULL;
	int procfd = nsopen_process(k->pid), err;
	char *text;

	if (procfd < 0)
		return NULL;
	text = nsopen_text(procfd, "maps", MAPS_TEXT_MAX, NULL, &err);
	if (text)
		procfs_maps(text, compare_line, &l);
	free(text);
	if (l.n >= ALIKE_MIN)
		f = proc_facts_read(procfd, k->pid);
	/* All children of one parent have the same mappings. */
	if (f && proc_facts_start_wall(f->start_ticks) > k->last) {
		proc_facts_put(pins, f);
		f = NULL;
	}
	close(procfd);
	return f;
}

/* NULL, or why a file with attributes @st does not count as the perf map. */
static const char *refuse(const struct facts *k, const struct stat *st)
{
	const int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	struct proc_facts *f;
	struct pins pins;
	const char *no;

	if (k->has_begun && mtime + k->late < k->begun)
		return "it is older than the program";
	pins_init(&pins, NULL, NULL);
	f = k->has_over ? NULL : living(k, &pins);
	if (f) {
		no = perfmap_refuse(f, st);
		proc_facts_put(&pins, f);
		return no;
	}
	if (st->st_uid && st->st_uid != geteuid())
		return "it belongs to another user, and the process has ended";
	if (!k->has_over)
		return "the process ended after the recording";
	if (!k->has_begun && mtime < k->host_begun)
		return "it is older than the recording";
	if (k->over_exec && mtime > k->over - k->late - clock_file_late_ns())
		return "its process has run another program since";
	if (mtime - LATER_NS > k->over)
		return "it is younger than the process";
	return NULL;
}

static int judge(const struct facts *k, int rootfd)
{
	struct stat st, named;
	const char *no;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", k->pid);
	fd = nsopen_file(rootfd, path, 0, &st);
	if (fd < 0)
		return fd;
	if (nsopen_lstat(rootfd, path, &named) || named.st_dev != st.st_dev || named.st_ino != st.st_ino)
		no = "it is a link";
	else
		no = refuse(k, &st);
	if (!no)
		return fd;
	pr_verbose("'%s' is not used: %s", path, no);
	nsopen_close(fd);
	return -EPERM;
}

/* ---- between a parser and its program ---- */

/* The mappings that do not fit any more are not compared. */
static int ask(const struct facts *k)
{
	struct strbuf sb = STRBUF_INIT;
	uint64_t key, val;
	size_t it = 0;
	int fd, err;

	strbuf_addf(&sb, "%" PRIu32 " %d %d %d", k->pid, k->has_begun, k->has_over, k->over_exec);
	strbuf_addf(&sb, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, k->begun, k->over, k->last, k->host_begun, k->late);
	while (u64map_next(&k->alike, &it, &key, &val) && sb.len + NUMBER_LEN < PARSER_TEXT_MAX)
		strbuf_addf(&sb, " %" PRIx64, key);
	err = parser_ask(HOSTMAP_ASK, sb.s, NULL, &fd);
	strbuf_fini(&sb);
	return err ? err : fd;
}

/* The hashes at @p, each behind a blank. False: there is something else. */
static bool take_alike(struct facts *k, const char *p)
{
	char *end;

	for (; *p == ' '; p = end) {
		const uint64_t hash = strtoull(p, &end, 16);

		if (end == p)
			return false;
		u64map_put(&k->alike, hash, NULL);
	}
	return !*p;
}

int hostmap_serve(const char *text, int *fd)
{
	struct facts k = { .pid = 0 };
	int begun, over, exec, len = 0, rootfd;

	if (sscanf(text, "%" SCNu32 " %d %d %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n", &k.pid, &begun, &over,
		   &exec, &k.begun, &k.over, &k.last, &k.host_begun, &k.late, &len) != 9 || !len)
		return -EINVAL;
	k.has_begun = begun;
	k.has_over = over;
	k.over_exec = exec;
	if (k.late < 0 || k.late > LATE_MAX)
		return -EINVAL;
	if (!take_alike(&k, text + len)) {
		u64map_fini(&k.alike);
		return -EINVAL;
	}
	rootfd = nsopen_host_root();
	*fd = rootfd < 0 ? rootfd : judge(&k, rootfd);
	if (rootfd >= 0)
		close(rootfd);
	u64map_fini(&k.alike);
	return MIN(*fd, 0);
}

bool hostmap_still(const struct proc *p, int fd)
{
	const int again = hostmap_of(p);
	struct stat was, is;
	bool same;

	if (again < 0)
		return false;
	same = !nsopen_stat(fd, &was) && !nsopen_stat(again, &is) && was.st_dev == is.st_dev && was.st_ino == is.st_ino;
	nsopen_close(again);
	return same;
}

int hostmap_of(const struct proc *p)
{
	const struct proctab *pt = p->pt;
	struct facts k;
	int fd;

	/* A container's process writes to its own /tmp, under its own pid. */
	if (!pt->jit.host_maps || !pt->files.host || (p->mnt_ns && p->mnt_ns != pt->files.dsos.own_mnt_ns))
		return -ENOENT;
	gather(&k, p);
	if (parser_is()) {
		fd = ask(&k);
	} else {
		fd = judge(&k, pt->files.host->root.fd);
	}
	u64map_fini(&k.alike);
	return fd;
}
