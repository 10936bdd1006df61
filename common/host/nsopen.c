/*
 * Opening files of profiled processes: openat2(2) below an O_PATH fd of their root (fs/open.c,
 * fs/namei.c). Called by syscall(2) because Debian 12's glibc has no wrapper.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "host/procfs.h"

/* A rename elsewhere can make RESOLVE_IN_ROOT fail with EAGAIN; openat2(2) says to retry. */
#define AGAIN_MAX 32

/* Number of descriptors checked, a microsecond each. Runtimes open their files early. */
#define HELD_MAX 256

/* 65,536 mappings with paths of 1 KiB. */
#define MAPS_TEXT_MAX (64u << 20)

static const char *proc_dir = "/proc";

void nsopen_set_proc(const char *dir)
{
	proc_dir = dir;
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
	return proc_dir;
}

/*
 * -ENOSYS (kernel before 5.6, or a seccomp profile that does not know the call) is returned to the
 * caller: no other call keeps a hostile symlink inside the root.
 */
static int open_in_root(int rootfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int tries;

	for (tries = 0; tries < AGAIN_MAX; tries++) {
		long fd = syscall(SYS_openat2, rootfd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

/* Opens a file of /proc/PID. @name is ours and never a string of the process. */
static int open_proc(uint32_t pid, const char *name, int flags)
{
	char path[PATH_MAX];
	int fd, n;

	n = snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", proc_dir, pid, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/*
 * Turns O_PATH fd @pathfd (consumed) into an O_RDONLY fd of the same inode. O_PATH comes first
 * because opening a FIFO or a device for reading has side effects. Opening our own fd link then
 * makes sure that nobody can swap the file between check and open. O_NONBLOCK stays: with a lease
 * (fcntl(2)) on a regular file, the open would wait for the lease holder.
 */
static int reopen_regular(int pathfd, uint64_t max_size, struct stat *st)
{
	char self[64];
	struct stat own;
	int fd, ret;

	if (!st)
		st = &own;
	if (fstat(pathfd, st)) {
		ret = -errno;
	} else if (!S_ISREG(st->st_mode)) {
		ret = -EINVAL;
	} else if (max_size && (uint64_t)st->st_size > max_size) {
		ret = -EFBIG;
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", pathfd);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		ret = fd < 0 ? -errno : fd;
	}
	close(pathfd);
	return ret;
}

int nsopen_process(uint32_t pid)
{
	return open_proc(pid, "", O_PATH | O_DIRECTORY);
}

static int open_at(int procfd, const char *name, int flags)
{
	int fd = openat(procfd, name, flags | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int nsopen_process_file(int procfd, const char *name)
{
	return open_at(procfd, name, O_RDONLY);
}

int nsopen_other_thread(int procfd)
{
	int dir = open_at(procfd, "task", O_RDONLY | O_DIRECTORY), ret = -ESRCH;
	DIR *threads = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *de;
	char root[PATH_MAX];

	if (!threads)
		return dir < 0 ? dir : -ENOMEM;
	while (ret == -ESRCH && (de = readdir(threads))) {
		int fd = de->d_name[0] == '.' ? -ENOENT : open_at(dirfd(threads), de->d_name, O_PATH | O_DIRECTORY);

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
	int fd = open_at(procfd, "root", O_PATH | O_DIRECTORY), other;

	if (fd != -ENOENT)
		return fd;
	other = nsopen_other_thread(procfd);
	if (other < 0)
		return fd;
	fd = open_at(other, "root", O_PATH | O_DIRECTORY);
	close(other);
	return fd;
}

int nsopen_root(uint32_t pid)
{
	return open_proc(pid, "root", O_PATH | O_DIRECTORY);
}

int nsopen_host_root(void)
{
	int fd;

	/* With a foreign /proc, the host's root is that of its init and not ours. */
	if (strcmp(proc_dir, "/proc"))
		return nsopen_root(1);
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int nsopen_dir(int rootfd, const char *path)
{
	return open_in_root(rootfd, path, O_PATH | O_DIRECTORY);
}

int nsopen_file(int rootfd, const char *path, uint64_t max_size, struct stat *st)
{
	int fd = open_in_root(rootfd, path, O_PATH);

	return fd < 0 ? fd : reopen_regular(fd, max_size, st);
}

/* Does @path, a link in /proc/PID/fd, point to a file called @base? */
static bool is_called(const char *path, const char *base)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(base);

	return slash && !strncmp(slash + 1, base, len) &&
	       (!slash[1 + len] || !strcmp(slash + 1 + len, " (deleted)"));
}

int nsopen_held(int procfd, const char *base, struct stat *st)
{
	char path[PATH_MAX], name[16];

	/* By number, because listing the folder would make the kernel list all descriptors. */
	for (int i = 0; i < HELD_MAX; i++) {
		ssize_t n;
		int fd;

		snprintf(name, sizeof(name), "fd/%d", i);
		n = readlinkat(procfd, name, path, sizeof(path) - 1);
		if (n < 0)
			continue;
		path[n] = '\0';
		if (!is_called(path, base))
			continue;
		fd = open_at(procfd, name, O_PATH);
		return fd < 0 ? fd : reopen_regular(fd, 0, st);
	}
	return -ENOENT;
}

int nsopen_mapping(uint32_t pid, uint64_t start, uint64_t end, struct stat *st)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	fd = open_proc(pid, name, O_PATH);
	return fd < 0 ? fd : reopen_regular(fd, 0, st);
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

int nsopen_mapping_at(uint32_t pid, uint64_t addr, struct stat *st)
{
	struct wanted w = { .addr = addr };
	int fd = nsopen_procfile(pid, "maps"), err = -ENOENT;
	char *text;

	if (fd < 0)
		return fd;
	text = nsopen_slurp(fd, MAPS_TEXT_MAX, NULL, &err);
	close(fd);
	if (!text)
		return err;
	procfs_maps(text, find_mapping, &w);
	free(text);
	return w.end ? nsopen_mapping(pid, w.start, w.end, st) : -ENOENT;
}

int nsopen_procfile(uint32_t pid, const char *name)
{
	return open_proc(pid, name, O_RDONLY);
}

char *nsopen_slurp(int fd, size_t max, size_t *len, int *err)
{
	size_t cap = MIN(max, (size_t)4096), n = 0;
	char *buf = xmalloc(cap + 1);
	ssize_t got;

	/*
	 * Files of /proc have size 0: read until the end. One byte more than @max shows that the
	 * file is larger.
	 */
	for (;;) {
		got = read(fd, buf + n, cap + 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			*err = -errno;
			goto fail;
		}
		n += (size_t)got;
		if (!got)
			break;
		if (n > max) {
			*err = -EFBIG;
			goto fail;
		}
		if (n > cap) {
			cap = MIN(max, cap * 2);
			buf = xrealloc(buf, cap + 1);
		}
	}
	buf[n] = '\0';
	if (len)
		*len = n;
	return buf;
fail:
	free(buf);
	return NULL;
}
