#include "host/fileop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/fstrust.h"
#include "host/procfs.h"
#include "host/rawopen.h"

/* Number of descriptors checked, at a microsecond each. Runtimes open their files early. */
#define HELD_MAX 256

/* 65,536 mappings with paths of 1 KiB. */
#define MAPS_TEXT_MAX (64u << 20)

static bool careful;

void fileop_be_careful(void)
{
	careful = true;
}

/* ---- opening ---- */

static int keep_status(int fd, struct fileop_result *r)
{
	if (fd < 0)
		return fd;
	if (fstat(fd, &r->st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	r->fd = fd;
	return 0;
}

/*
 * Turns O_PATH fd @pathfd (consumed) into an O_RDONLY fd of the same inode. O_PATH comes first
 * because opening a FIFO or a device for reading has side effects. Opening our own fd link then
 * makes sure that nobody can swap the file between check and open. O_NONBLOCK stays: with a lease
 * (fcntl(2)) on a regular file, the open would wait for the lease holder. @rootfd: of its process,
 * or -1.
 */
static int reopen_regular(int pathfd, int rootfd, uint64_t max_size, struct fileop_result *r)
{
	char self[64];
	int fd, ret = 0;

	if (fstat(pathfd, &r->st)) {
		ret = -errno;
	} else if (!S_ISREG(r->st.st_mode)) {
		ret = -EINVAL;
	} else if (max_size && (uint64_t)r->st.st_size > max_size) {
		ret = -EFBIG;
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", pathfd);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		ret = fd < 0 ? -errno : 0;
		r->fd = fd;
	}
	/* It can be opened, but reading it, and even closing it, may wait without end. */
	if (!ret && careful && !fstrust_answers(r->fd, &r->st, rootfd)) {
		close(r->fd);
		r->fd = pathfd;
	} else {
		close(pathfd);
	}
	return ret;
}

static int run_file(int rootfd, const char *path, uint64_t max, struct fileop_result *r)
{
	int fd = rawopen_below(rootfd, path, O_PATH, 0);

	return fd < 0 ? fd : reopen_regular(fd, rootfd, max, r);
}

static int run_first(const struct fileop *op, struct fileop_result *r)
{
	const char *end = op->path + op->path_len, *path;
	uint64_t i = 0;
	int ret = -ENOENT;

	for (path = op->path; path < end; path += strlen(path) + 1, i++) {
		int dir = op->fd[path[0] != '/'], err;

		if (i < op->from || dir < 0)
			continue;
		err = run_file(dir, path, op->max, r);
		r->found = i;
		if (!err)
			return 0;
		/* That one exists says more than that another is missing. */
		ret = err != -ENOENT && err != -ENOTDIR ? err : ret;
	}
	return ret;
}

/* A file would silently act like an empty folder. */
static int run_user_dir(const char *path, struct fileop_result *r)
{
	char self[64], real[PATH_MAX];
	ssize_t n;

	r->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->fd < 0 || faccessat(r->fd, ".", X_OK, AT_EACCESS))
		return -errno;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", r->fd);
	n = readlink(self, real, sizeof(real));
	if (n < 0 || (size_t)n == sizeof(real))
		return n < 0 ? -errno : -ENAMETOOLONG;
	r->data = xmalloc((size_t)n + 1);
	memcpy(r->data, real, (size_t)n);
	r->data[n] = '\0';
	r->len = (size_t)n;
	return 0;
}

static int run_stat(const struct fileop *op, struct fileop_result *r)
{
	struct statfs fs;
	int fd, ret;

	if (!op->path) {
		if (fstat(op->fd[0], &r->st))
			return -errno;
		/* A FUSE server may not support this one. */
		r->found = fstatfs(op->fd[0], &fs) ? 0 : (unsigned long)fs.f_type;
		return 0;
	}
	fd = rawopen_below(op->fd[0], op->path, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	ret = fstat(fd, &r->st) ? -errno : 0;
	close(fd);
	return ret;
}

static int run_list(const struct fileop *op, struct fileop_result *r)
{
	int fd = rawopen_below(op->fd[0], op->path, O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;
	size_t cap = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	while ((de = readdir(dir))) {
		size_t len = strlen(de->d_name);

		if (r->len + len + 2 > op->max)
			break;
		if (r->len + len + 3 > cap) {
			cap = MAX(2 * cap, r->len + len + 4096);
			r->data = xrealloc(r->data, cap);
		}
		r->data[r->len++] = (char)de->d_type;
		memcpy(r->data + r->len, de->d_name, len + 1);
		r->len += len + 1;
	}
	closedir(dir);
	if (!r->data)
		r->data = xcalloc(1, 1);
	r->data[r->len] = '\0';
	return 0;
}

/* ---- of a process ---- */

/* Does @path, a link in /proc/PID/fd, point to a file called @base? */
static bool is_called(const char *path, const char *base)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(base);

	return slash && !strncmp(slash + 1, base, len) &&
	       (!slash[1 + len] || !strcmp(slash + 1 + len, " (deleted)"));
}

/* @fd: O_PATH or negative errno, consumed. The root shows whether its overlay answers. */
static int reopen_of(int procfd, int fd, struct fileop_result *r)
{
	int root, ret;

	if (fd < 0)
		return fd;
	root = careful ? rawopen_at(procfd, "root", O_PATH | O_DIRECTORY) : -1;
	ret = reopen_regular(fd, root, 0, r);
	if (root >= 0)
		close(root);
	return ret;
}

static int run_held(int procfd, const char *base, struct fileop_result *r)
{
	char path[PATH_MAX], name[16];

	/* By number, because listing the folder would make the kernel list all descriptors. */
	for (int i = 0; i < HELD_MAX; i++) {
		ssize_t n;

		snprintf(name, sizeof(name), "fd/%d", i);
		n = readlinkat(procfd, name, path, sizeof(path) - 1);
		if (n < 0)
			continue;
		path[n] = '\0';
		if (is_called(path, base))
			return reopen_of(procfd, rawopen_at(procfd, name, O_PATH), r);
	}
	return -ENOENT;
}

static int run_mapping(int procfd, uint64_t start, uint64_t end, struct fileop_result *r)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	return reopen_of(procfd, rawopen_at(procfd, name, O_PATH), r);
}

struct wanted {
	uint64_t addr, start, end;
};

static int find_mapping(void *ctx, const struct proc_map *m)
{
	struct wanted *w = ctx;

	if (w->addr < m->start || w->addr >= m->end)
		return 0;
	w->start = m->start;
	w->end = m->ino ? m->end : 0;
	return 1;
}

static int run_text(int procfd, const char *name, size_t max, struct fileop_result *r)
{
	int fd = rawopen_at(procfd, name, O_RDONLY), err = 0;

	if (fd < 0)
		return fd;
	r->data = rawopen_slurp(fd, max, &r->len, &err);
	close(fd);
	return err;
}

static int run_mapping_at(int procfd, uint64_t addr, struct fileop_result *r)
{
	struct wanted w = { .addr = addr };
	struct fileop_result maps = { .fd = -1 };
	int err = run_text(procfd, "maps", MAPS_TEXT_MAX, &maps);

	if (err)
		return err;
	procfs_maps(maps.data, find_mapping, &w);
	free(maps.data);
	return w.end ? run_mapping(procfd, w.start, w.end, r) : -ENOENT;
}

static int run_memory(const struct fileop *op, struct fileop_result *r)
{
	int fd = rawopen_at(op->fd[0], "mem", O_RDONLY), err;
	ssize_t n;

	if (fd < 0)
		return fd;
	r->data = xmalloc(MIN(op->max, (uint64_t)FILEOP_PIECE_MAX) + 1);
	n = pread(fd, r->data, MIN(op->max, (uint64_t)FILEOP_PIECE_MAX), (off_t)op->from);
	err = n < 0 ? -errno : 0;
	close(fd);
	r->len = n > 0 ? (size_t)n : 0;
	r->data[r->len] = '\0';
	return err;
}

/* ---- copying ---- */

static int run_copy(const struct fileop *op, struct fileop_result *r)
{
	const uint64_t want = MIN(op->max, (uint64_t)FILEOP_COPY_MAX);
	char self[64], *buf = NULL;
	int fd, to = op->fd[1], err = 0;

	if (to < 0) {
		to = r->fd = memfd_create("nsprof-copy", MFD_CLOEXEC);
		if (to < 0 || ftruncate(to, (off_t)op->to))
			return -errno;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", op->fd[0]);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	buf = xmalloc(FILEOP_PIECE_MAX);
	while (!err && r->found < want) {
		const off_t at = (off_t)(op->from + r->found);
		ssize_t n = pread(fd, buf, MIN(want - r->found, (uint64_t)FILEOP_PIECE_MAX), at);

		if (n < 0 && errno == EINTR)
			continue;
		err = n < 0 ? -errno : 0;
		if (n <= 0)
			break;
		/* Writes are short if memory is full. */
		if (pwrite(to, buf, (size_t)n, at) != n)
			err = -ENOSPC;
		r->found += (uint64_t)n;
	}
	free(buf);
	close(fd);
	return err;
}

/* ---- all of them ---- */

static int run(const struct fileop *op, struct fileop_result *r)
{
	switch (op->kind) {
	case FILEOP_FILE:
		return run_file(op->fd[0], op->path, op->max, r);
	case FILEOP_FIRST:
		return run_first(op, r);
	case FILEOP_DIR:
		return keep_status(rawopen_below(op->fd[0], op->path, O_PATH | O_DIRECTORY, 0), r);
	case FILEOP_USER_DIR:
		return run_user_dir(op->path, r);
	case FILEOP_STAT:
		return run_stat(op, r);
	case FILEOP_LIST:
		return run_list(op, r);
	case FILEOP_MAPPING:
		return run_mapping(op->fd[0], op->from, op->to, r);
	case FILEOP_MAPPING_AT:
		return run_mapping_at(op->fd[0], op->from, r);
	case FILEOP_HELD:
		return run_held(op->fd[0], op->path, r);
	case FILEOP_TEXT:
		return run_text(op->fd[0], op->path, op->max, r);
	case FILEOP_MEMORY:
		return run_memory(op, r);
	case FILEOP_COPY:
		return run_copy(op, r);
	case FILEOP_PROC:
	case FILEOP_HOST_ROOT:
		return -EINVAL;
	case FILEOP_CLOSE:
	case FILEOP_KINDS:
		break;
	}
	return 0;
}

int fileop_run(const struct fileop *op, struct fileop_result *r)
{
	int err;

	*r = (struct fileop_result){ .fd = -1 };
	err = run(op, r);
	if (err)
		fileop_result_fini(r);
	return err;
}

void fileop_result_fini(struct fileop_result *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->data);
	*r = (struct fileop_result){ .fd = -1 };
}
