#include "host/nsopen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/opener.h"
#include "host/rawopen.h"

void nsopen_set_proc(const char *dir)
{
	rawopen_set_proc(dir);
}

int nsopen_use_proc(void *unused, const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)unused;
	/* The folder may be empty: then no process is alive. */
	if (fd < 0) {
		pr_err("cannot use --proc '%s': %s", dir, strerror(errno));
		return -EINVAL;
	}
	close(fd);
	nsopen_set_proc(dir);
	return 0;
}

const char *nsopen_proc(void)
{
	return rawopen_proc();
}

/* ---- of /proc ---- */

/* Opens a file of /proc/PID. @name is ours and never a string of the process. */
static int open_proc(uint32_t pid, const char *name, int flags)
{
	char path[PATH_MAX];
	int fd, n;

	n = snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", nsopen_proc(), pid, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* In a parser: a file of /proc/PID, opened by the program that it belongs to. */
static int ask_proc(uint32_t pid, const char *name)
{
	const struct fileop op = { .kind = FILEOP_PROC, .fd = { -1, -1 }, .path = name, .from = pid };
	struct fileop_result r;
	int err = opener_run(&op, &r);

	return err ? err : r.fd;
}

int nsopen_process(uint32_t pid)
{
	if (opener_is_through())
		return ask_proc(pid, "");
	return open_proc(pid, "", O_PATH | O_DIRECTORY);
}

int nsopen_process_file(int procfd, const char *name)
{
	return rawopen_at(procfd, name, O_RDONLY);
}

int nsopen_other_thread(int procfd)
{
	int dir = rawopen_at(procfd, "task", O_RDONLY | O_DIRECTORY), ret = -ESRCH;
	DIR *threads = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *de;
	char root[PATH_MAX];

	if (!threads)
		return dir < 0 ? dir : -ENOMEM;
	while (ret == -ESRCH && (de = readdir(threads))) {
		int fd = de->d_name[0] == '.' ? -ENOENT : rawopen_at(dirfd(threads), de->d_name, O_PATH | O_DIRECTORY);

		if (fd < 0)
			continue;
		if (readlinkat(fd, "root", root, sizeof(root)) >= 0) {
			ret = fd;
			break;
		}
		/*
		 * ENOENT: this is the thread that has ended. A permission error for one thread
		 * holds for all.
		 */
		if (errno != ENOENT)
			ret = -errno;
		close(fd);
	}
	closedir(threads);
	return ret;
}

int nsopen_process_root(int procfd)
{
	int fd = rawopen_at(procfd, "root", O_PATH | O_DIRECTORY), other;

	if (fd != -ENOENT)
		return fd;
	other = nsopen_other_thread(procfd);
	if (other < 0)
		return fd;
	fd = rawopen_at(other, "root", O_PATH | O_DIRECTORY);
	close(other);
	return fd;
}

int nsopen_root(uint32_t pid)
{
	if (opener_is_through())
		return ask_proc(pid, "root");
	return open_proc(pid, "root", O_PATH | O_DIRECTORY);
}

int nsopen_host_root(void)
{
	const struct fileop op = { .kind = FILEOP_HOST_ROOT, .fd = { -1, -1 } };
	struct fileop_result r;
	int fd;

	if (opener_is_through()) {
		fd = opener_run(&op, &r);
		return fd ? fd : r.fd;
	}
	/* With a foreign /proc, the host's root is that of its init and not ours. */
	if (strcmp(nsopen_proc(), "/proc"))
		return nsopen_root(1);
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nsopen_procfile(uint32_t pid, const char *name)
{
	if (opener_is_through())
		return ask_proc(pid, name);
	return open_proc(pid, name, O_RDONLY);
}

/* ---- of processes ---- */

/* The descriptor of @op's result, or negative errno. */
static int run_open(const struct fileop *op, struct stat *st)
{
	struct fileop_result r;
	int err = opener_run(op, &r);

	if (err)
		return err;
	if (st)
		*st = r.st;
	return r.fd;
}

char *nsopen_text(int procfd, const char *name, size_t max, size_t *len, int *err)
{
	const struct fileop op = { .kind = FILEOP_TEXT, .fd = { procfd, -1 }, .path = name, .max = max };
	struct fileop_result r;

	*err = opener_run(&op, &r);
	if (*err)
		return NULL;
	if (len)
		*len = r.len;
	return r.data;
}

ssize_t nsopen_memory(int procfd, uint64_t addr, void *buf, size_t len)
{
	struct fileop op = { .kind = FILEOP_MEMORY, .fd = { procfd, -1 } };
	size_t done = 0;

	while (done < len) {
		struct fileop_result r;
		int err;

		op.from = addr + done;
		op.max = MIN(len - done, (size_t)FILEOP_PIECE_MAX);
		err = opener_run(&op, &r);
		if (err)
			return done ? (ssize_t)done : err;
		memcpy((char *)buf + done, r.data, r.len);
		done += r.len;
		free(r.data);
		if (r.len < op.max)
			break;
	}
	return (ssize_t)done;
}

int nsopen_dir(int rootfd, const char *path, struct stat *st)
{
	return run_open(&(struct fileop){ .kind = FILEOP_DIR, .fd = { rootfd, -1 }, .path = path }, st);
}

int nsopen_user_dir(const char *path, char **real)
{
	struct fileop op = { .kind = FILEOP_USER_DIR, .fd = { -1, -1 } };
	char *here = path[0] == '/' ? NULL : getcwd(NULL, 0), *full;
	struct fileop_result r;
	int err;

	if (path[0] != '/' && !here)
		return -errno;
	full = xasprintf("%s/%s", here ? here : "", path);
	op.path = full;
	err = *path ? opener_run(&op, &r) : -ENOENT;
	free(full);
	free(here);
	if (err)
		return err;
	if (real)
		*real = r.data;
	else
		free(r.data);
	return r.fd;
}

int nsopen_dir_cached(int rootfd, const char *path)
{
	int fd = rawopen_below(rootfd, path, O_PATH | O_DIRECTORY, RAWOPEN_CACHED);

	/* A kernel that does not know the flag. */
	return fd == -EINVAL ? -EAGAIN : fd;
}

int nsopen_list(int rootfd, const char *path, size_t max, bool (*fn)(void *ctx, const char *name, int type), void *ctx)
{
	const struct fileop op = { .kind = FILEOP_LIST, .fd = { rootfd, -1 }, .path = path, .max = max };
	struct fileop_result r;
	int err = opener_run(&op, &r);

	if (err)
		return err;
	for (const char *s = r.data; s < r.data + r.len; s += strlen(s + 1) + 2)
		if (!fn(ctx, s + 1, (unsigned char)s[0]))
			break;
	free(r.data);
	return 0;
}

int nsopen_file(int rootfd, const char *path, uint64_t max_size, struct stat *st)
{
	return run_open(&(struct fileop){ .kind = FILEOP_FILE, .fd = { rootfd, -1 }, .path = path, .max = max_size }, st);
}

int nsopen_first(int rootfd, int dirfd, const char *paths, size_t len, unsigned int *i, struct stat *st)
{
	const struct fileop op = {
		.kind = FILEOP_FIRST, .fd = { rootfd, dirfd }, .path = paths, .path_len = len, .from = *i,
	};
	struct fileop_result r;
	int err = opener_run(&op, &r);

	if (err)
		return err;
	*i = (unsigned int)r.found;
	*st = r.st;
	return r.fd;
}

int nsopen_held(int procfd, const char *base, struct stat *st)
{
	return run_open(&(struct fileop){ .kind = FILEOP_HELD, .fd = { procfd, -1 }, .path = base }, st);
}

static int open_mapping(enum fileop_kind kind, uint32_t pid, uint64_t from, uint64_t to, struct stat *st)
{
	struct fileop op = { .kind = kind, .fd = { nsopen_process(pid), -1 }, .from = from, .to = to };
	int fd;

	if (op.fd[0] < 0)
		return op.fd[0];
	fd = run_open(&op, st);
	close(op.fd[0]);
	return fd;
}

int nsopen_mapping(uint32_t pid, uint64_t start, uint64_t end, struct stat *st)
{
	return open_mapping(FILEOP_MAPPING, pid, start, end, st);
}

int nsopen_mapping_at(uint32_t pid, uint64_t addr, struct stat *st)
{
	return open_mapping(FILEOP_MAPPING_AT, pid, addr, 0, st);
}

/* ---- what can be done with a descriptor ---- */

bool nsopen_is_remote(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_PATH);
}

static int run_stat(int fd, const char *path, struct stat *st)
{
	const struct fileop op = { .kind = FILEOP_STAT, .fd = { fd, -1 }, .path = path };
	struct fileop_result r;
	int err = opener_run(&op, &r);

	if (!err)
		*st = r.st;
	return err;
}

int nsopen_stat(int fd, struct stat *st)
{
	if (nsopen_is_remote(fd))
		return run_stat(fd, NULL, st);
	return fstat(fd, st) ? -errno : 0;
}

int nsopen_fs_type(int fd, uint64_t *type)
{
	const struct fileop op = { .kind = FILEOP_STAT, .fd = { fd, -1 } };
	struct fileop_result r;
	struct statfs fs;
	int err;

	if (!nsopen_is_remote(fd)) {
		err = fstatfs(fd, &fs) ? -errno : 0;
		*type = (unsigned long)fs.f_type;
		return err;
	}
	err = opener_run(&op, &r);
	*type = err ? 0 : r.found;
	return err;
}

int nsopen_lstat(int dirfd, const char *path, struct stat *st)
{
	return run_stat(dirfd, path, st);
}

/* A copy of O_PATH @fd under way. */
struct copying {
	int fd, copy;		/* copy: -1 = not made yet */
	uint64_t size;		/* of the file at the beginning, bytes */
	uint64_t end;		/* where the file ended, if that is before */
};

/* Copies [@from, @to). */
static int copy_range(struct copying *c, uint64_t from, uint64_t to)
{
	struct fileop op = { .kind = FILEOP_COPY, .to = c->size };

	do {
		struct fileop_result r;
		int err;

		op.fd[0] = c->fd;
		op.fd[1] = c->copy;
		op.from = from;
		op.max = MIN(to - from, (uint64_t)FILEOP_COPY_MAX);
		err = opener_run(&op, &r);
		if (err)
			return err;
		if (c->copy < 0)
			c->copy = r.fd;
		from += r.found;
		if (r.found < op.max) {
			c->end = from;
			break;
		}
	} while (from < to);
	return 0;
}

static int duplicate(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return own < 0 ? -errno : own;
}

static int begin_copy(struct copying *c, int fd, uint64_t max)
{
	struct stat st;
	int err = run_stat(fd, NULL, &st);

	*c = (struct copying){ .fd = fd, .copy = -1 };
	if (err)
		return err;
	c->size = c->end = (uint64_t)st.st_size;
	return c->size > max ? -EFBIG : 0;
}

/* The copy, or @err. */
static int end_copy(const struct copying *c, int err)
{
	if (err && c->copy >= 0)
		close(c->copy);
	return err ? err : c->copy;
}

int nsopen_copy(int fd, uint64_t max)
{
	struct copying c;
	int err;

	if (!nsopen_is_remote(fd))
		return duplicate(fd);
	err = begin_copy(&c, fd, max);
	if (err)
		return err;
	err = copy_range(&c, 0, c.size);
	/* It may have become shorter. */
	if (!err && c.end < c.size && ftruncate(c.copy, (off_t)c.end))
		err = -errno;
	return end_copy(&c, err);
}

int nsopen_copy_ends(int fd, uint64_t ends)
{
	struct copying c;
	int err;

	if (!nsopen_is_remote(fd))
		return duplicate(fd);
	err = begin_copy(&c, fd, INT64_MAX);
	if (err)
		return err;
	ends = MIN(ends, c.size);
	err = copy_range(&c, 0, ends);
	if (!err && ends < c.size)
		err = copy_range(&c, MAX(ends, c.size - ends), c.size);
	return end_copy(&c, err);
}

int nsopen_copy_parts(int fd, uint64_t max, uint64_t first, nsopen_part_fn next, void *ctx)
{
	uint64_t from = 0, to = first, sum = 0;
	struct copying c;
	int err;

	if (!nsopen_is_remote(fd))
		return duplicate(fd);
	err = begin_copy(&c, fd, INT64_MAX);
	if (err)
		return err;
	do {
		to = MIN(to, c.size);
		if (c.copy >= 0 && from >= to)
			continue;
		sum += to - from;
		err = sum > max ? -EFBIG : copy_range(&c, from, to);
	} while (!err && next(ctx, c.copy, &from, &to));
	return end_copy(&c, err);
}

char *nsopen_slurp(int fd, size_t max, size_t *len, int *err)
{
	char *text;
	int copy;

	if (!nsopen_is_remote(fd))
		return rawopen_slurp(fd, max, len, err);
	copy = nsopen_copy(fd, max);
	*err = copy;
	if (copy < 0)
		return NULL;
	text = rawopen_slurp(copy, max, len, err);
	close(copy);
	return text;
}

void nsopen_close(int fd)
{
	opener_close(fd);
}

bool nsopen_place(int fd, struct nsopen_place *p)
{
	const char *mount, *ino;
	char text[512];

	/* A parser cannot look there. */
	if (opener_is_through() || !rawopen_fdinfo(fd, text, sizeof(text)))
		return false;
	mount = strstr(text, "\nmnt_id:");
	ino = strstr(text, "\nino:");
	if (!mount || !ino)
		return false;
	*p = (struct nsopen_place){ strtoull(mount + 8, NULL, 10), strtoull(ino + 5, NULL, 10) };
	return true;
}
