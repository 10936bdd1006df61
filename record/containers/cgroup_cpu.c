#include "containers/cgroup_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "host/cgroup_path.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define FILE_MAX_SIZE 65536

/* ---- texts ---- */

void cpu_reading_stat(struct cpu_reading *r, const char *text)
{
	unsigned int had = 0;

	while (*text) {
		size_t key = strcspn(text, " \n");
		uint64_t v = strtoull(text + key, NULL, 10);

		if (key == 10 && !memcmp(text, "usage_usec", key)) {
			r->usage_us = v;
			r->have_usage = true;
		} else if (key == 10 && !memcmp(text, "nr_periods", key)) {
			r->nr_periods = v;
			had |= 1;
		} else if (key == 12 && !memcmp(text, "nr_throttled", key)) {
			r->nr_throttled = v;
			had |= 2;
		} else if (key == 14 && !memcmp(text, "throttled_usec", key)) {
			r->throttled_us = v;
			had |= 4;
		} else if (key == 14 && !memcmp(text, "throttled_time", key)) {
			r->throttled_us = v / 1000;	/* v1: ns */
			had |= 4;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	/* Without the cpu controller, cpu.stat of v2 has usage only. */
	if (had == 7)
		r->have_throttling = true;
}

/* @quota "max" or "-1": no limit. */
static void set_limit(struct cpu_reading *r, const char *quota, const char *period)
{
	long long q = strtoll(quota, NULL, 10), p = strtoll(period, NULL, 10);

	r->quota_us = q > 0 && p > 0 ? (uint64_t)q : 0;
	r->period_us = p > 0 ? (uint64_t)p : 0;
}

void cpu_reading_max(struct cpu_reading *r, const char *text)
{
	set_limit(r, text, text + strcspn(text, " "));
}

void cpu_reading_cfs(struct cpu_reading *r, const char *quota, const char *period)
{
	set_limit(r, quota, period);
}

/* ---- where ---- */

static void open_other(struct cgroup_fs *to, const char *controller, const struct cgroup_fs *fs)
{
	if (!cgroup_fs_open_for(to, controller) && !strcmp(to->mount, fs->mount))
		cgroup_fs_close(to);
}

void cgroup_cpu_open(struct cgroup_cpu *c, const struct cgroup_fs *fs)
{
	*c = (struct cgroup_cpu){ .fs = fs, .usage.fd = -1, .limit.fd = -1 };
	/* cpu.stat of v2 has the CPU time even without a controller. */
	if (!fs->v2)
		open_other(&c->usage, "cpuacct", fs);
	open_other(&c->limit, "cpu", fs);
}

void cgroup_cpu_close(struct cgroup_cpu *c)
{
	cgroup_fs_close(&c->usage);
	cgroup_fs_close(&c->limit);
}

/* Are CPU time, or limits, in perf_event's own hierarchy? */
static bool usage_here(const struct cgroup_cpu *c)
{
	return c->usage.fd < 0;
}

static bool limit_here(const struct cgroup_cpu *c)
{
	return c->limit.fd < 0;
}

char *cgroup_cpu_path(const char *text, const char *controller, const char *own)
{
	char here[PATH_MAX], there[PATH_MAX];
	struct cgroup_path ctr, mine;
	size_t len, below, end = 0;

	if (!procfs_cgroup_path(text, "perf_event", here, sizeof(here)) ||
	    !procfs_cgroup_path(text, controller, there, sizeof(there)) || !cgroup_path_within(here, own))
		return NULL;
	len = strlen(there);
	below = strlen(here) - (strcmp(own, "/") ? strlen(own) : 0);
	if (below <= len && !strcmp(there + len - below, here + strlen(here) - below))
		there[len - below] = '\0';
	/* The same container there, and not one that it made up below. */
	if (cgroup_path_parse(own, &mine)) {
		char *id = xstrndup(mine.id, mine.id_len);

		end = cgroup_path_outermost(there, id, 0);
		free(id);
	}
	if (!end && cgroup_path_parse(there, &ctr))
		end = ctr.own_len;
	if (end)
		there[end] = '\0';
	return there[0] && strcmp(there, "/") ? xstrdup(there) : NULL;
}

/*
 * Reads file @name of cgroup @path into @text, "" on failure. *@ino (may be NULL): the inode that
 * the file must have; if 0, it is set. 0; -ENOENT: the cgroup or file is gone, or another file has
 * its path.
 */
static int read_file(const struct cgroup_fs *fs, const char *path, const char *name, uint64_t *ino, char *text,
		     size_t size)
{
	char file[PATH_MAX + 32];
	struct stat st;
	ssize_t n = 0;
	int fd, err = 0;

	text[0] = '\0';
	path += *path == '/';
	snprintf(file, sizeof(file), "%s%s%s", path, *path ? "/" : "", name);
	fd = openat(fs->fd, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	if (ino && (fstat(fd, &st) || (*ino && *ino != st.st_ino)))
		err = -ENOENT;
	if (!err)
		n = read(fd, text, size - 1);
	if (n < 0)
		err = -ENOENT;	/* ENODEV: removed between open and read */
	if (!err && ino)
		*ino = st.st_ino;
	text[err ? 0 : n] = '\0';
	close(fd);
	return err;
}

/* A process in @own itself; 0 = none, or none visible. */
static uint32_t any_pid(const struct cgroup_cpu *c, const char *own)
{
	char text[32];

	read_file(c->fs, own, "cgroup.procs", NULL, text, sizeof(text));
	return (uint32_t)strtoul(text, NULL, 10);
}

static void find_by(uint32_t pid, const char *own, struct cgroup_cpu_at *at)
{
	int fd = nsopen_procfile(pid, "cgroup"), err;
	char *text;

	if (fd < 0)
		return;
	text = nsopen_slurp(fd, FILE_MAX_SIZE, NULL, &err);
	close(fd);
	if (text && !at->usage)
		at->usage = cgroup_cpu_path(text, "cpuacct", own);
	if (text && !at->limit)
		at->limit = cgroup_cpu_path(text, "cpu", own);
	free(text);
}

void cgroup_cpu_find(const struct cgroup_cpu *c, const char *own, uint32_t pid, struct cgroup_cpu_at *at)
{
	if (!at->usage && usage_here(c))
		at->usage = xstrdup(own);
	if (!at->limit && limit_here(c))
		at->limit = xstrdup(own);
	if (pid && (!at->usage || !at->limit))
		find_by(pid, own, at);
	/* The process has ended or moved. */
	if (!at->usage || !at->limit)
		pid = any_pid(c, own);
	if (pid && (!at->usage || !at->limit))
		find_by(pid, own, at);
}

void cgroup_cpu_at_fini(struct cgroup_cpu_at *at)
{
	free(at->usage);
	free(at->limit);
}

/* ---- reading ---- */

static int read_usage(const struct cgroup_cpu *c, struct cgroup_cpu_at *at, struct cpu_reading *r)
{
	const struct cgroup_fs *fs = usage_here(c) ? c->fs : &c->usage;
	char text[1024];
	int err;

	if (!at->usage)
		return 0;
	err = read_file(fs, at->usage, fs->v2 ? "cpu.stat" : "cpuacct.usage", &at->usage_ino, text, sizeof(text));
	if (err)
		return err;
	if (fs->v2) {
		cpu_reading_stat(r, text);
	} else {
		r->usage_us = strtoull(text, NULL, 10) / 1000;
		r->have_usage = true;
	}
	return 0;
}

static int read_throttling(const struct cgroup_cpu *c, struct cgroup_cpu_at *at, struct cpu_reading *r)
{
	const struct cgroup_fs *fs = limit_here(c) ? c->fs : &c->limit;
	struct cpu_reading only = { 0 };
	char text[1024];
	int err;

	/* In v2 both are in one file, which has been read. */
	if (!at->limit || (usage_here(c) && limit_here(c) && fs->v2))
		return 0;
	err = read_file(fs, at->limit, "cpu.stat", &at->limit_ino, text, sizeof(text));
	/* It was never there or is not visible. Go on with the CPU time alone. */
	if (err && !at->limit_ino) {
		free(at->limit);
		at->limit = NULL;
		return 0;
	}
	if (err)
		return err;
	cpu_reading_stat(&only, text);
	if (only.have_throttling) {
		r->have_throttling = true;
		r->nr_periods = only.nr_periods;
		r->nr_throttled = only.nr_throttled;
		r->throttled_us = only.throttled_us;
	}
	return 0;
}

static void read_limit(const struct cgroup_cpu *c, const struct cgroup_cpu_at *at, struct cpu_reading *r)
{
	const struct cgroup_fs *fs = limit_here(c) ? c->fs : &c->limit;
	char text[64], period[64] = "0";

	if (!at->limit || read_file(fs, at->limit, fs->v2 ? "cpu.max" : "cpu.cfs_quota_us", NULL, text, sizeof(text)))
		return;
	if (fs->v2) {
		cpu_reading_max(r, text);
		return;
	}
	if (text[0] != '-')
		read_file(fs, at->limit, "cpu.cfs_period_us", NULL, period, sizeof(period));
	cpu_reading_cfs(r, text, period);
}

int cgroup_cpu_read(const struct cgroup_cpu *c, struct cgroup_cpu_at *at, bool limit, struct cpu_reading *r)
{
	struct cpu_reading now = *r;
	int err = read_usage(c, at, &now);

	if (!err)
		err = read_throttling(c, at, &now);
	if (err)
		return err;
	if (limit)
		read_limit(c, at, &now);
	*r = now;
	return 0;
}
