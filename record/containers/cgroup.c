#include "containers/cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/cgroup_path.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define MOUNTINFO_MAX (16u << 20)
#define PROCS_MAX (64u << 20)
#define WALK_DEPTH 64
/*
 * Ranks of mounts that perf_event may belong to. They are further apart than one line of mountinfo
 * can contain "/..".
 */
#define RANK_V2 1
#define RANK_V1 (RANK_V2 + (int)MOUNTINFO_MAX)

/* File handle type of kernfs (fs/kernfs/mount.c); the handle is the 64-bit node id. */
#ifndef FILEID_KERNFS
#define FILEID_KERNFS 0xfe
#endif

/* Is @word in the comma-separated @list? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, word, len))
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}

/*
 * How much of its hierarchy a mount shows: the higher its root, the more. Roots are relative to our
 * cgroup namespace. In a container, the root of the host's mount is "/..", above the container's
 * own "/".
 */
static int mount_reach(const char *root)
{
	int up = 1;

	if (!strcmp(root, "/"))
		return up;
	for (; !strncmp(root, "/..", 3) && (!root[3] || root[3] == '/'); root += 3)
		up++;
	return *root ? 0 : up;
}

struct choice {
	struct cgroup_fs *fs;
	const char *controller;
	bool seen[2];		/* v1, v2 */
	int best;
};

/* One line: "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw". */
static void mount_consider(void *ctx, const struct proc_mount *m)
{
	struct choice *c = ctx;
	size_t len = strlen(m->point);
	int rank;

	c->seen[0] |= !strcmp(m->type, "cgroup");
	c->seen[1] |= !strcmp(m->type, "cgroup2");
	/* A v1 mount of a controller takes it away from v2. */
	if (!strcmp(m->type, "cgroup") && has_word(m->options, c->controller))
		rank = RANK_V1;
	else if (!strcmp(m->type, "cgroup2"))
		rank = RANK_V2;
	else
		return;
	rank += mount_reach(m->root);
	if (rank <= c->best || len >= sizeof(c->fs->mount))
		return;
	memcpy(c->fs->mount, m->point, len + 1);
	c->best = rank;
	c->fs->v2 = rank < RANK_V1;
}

int cgroup_fs_parse_for(struct cgroup_fs *fs, const char *controller, const char *mountinfo)
{
	struct choice c = { .fs = fs, .controller = controller };
	char *text = xstrdup(mountinfo);

	procfs_mountinfo(text, mount_consider, &c);
	fs->others = c.seen[0] && c.seen[1];
	free(text);
	return c.best ? 0 : -ENOENT;
}

int cgroup_fs_parse(struct cgroup_fs *fs, const char *mountinfo)
{
	return cgroup_fs_parse_for(fs, "perf_event", mountinfo);
}

int cgroup_fs_open_for(struct cgroup_fs *fs, const char *controller)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), err;
	char *text;
	size_t len;

	fs->fd = -1;
	if (fd < 0)
		return -errno;
	text = nsopen_slurp(fd, MOUNTINFO_MAX, &len, &err);
	close(fd);
	if (!text)
		return err;
	err = cgroup_fs_parse_for(fs, controller, text);
	free(text);
	if (err)
		return err;
	fs->fd = open(fs->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fs->fd < 0 ? -errno : 0;
}

int cgroup_fs_open(struct cgroup_fs *fs)
{
	return cgroup_fs_open_for(fs, "perf_event");
}

void cgroup_fs_close(struct cgroup_fs *fs)
{
	if (fs->fd >= 0)
		close(fs->fd);
	fs->fd = -1;
}

/* The real path of @fd below the mount. -EXDEV: it lies elsewhere. */
static int path_below(const struct cgroup_fs *fs, int fd, char *out, size_t size)
{
	char link[64], real[PATH_MAX];
	size_t len = strlen(fs->mount);
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real) - 1);
	if (n < 0)
		return -errno;
	real[n] = '\0';
	if (strncmp(real, fs->mount, len) || (real[len] && real[len] != '/'))
		return -EXDEV;
	if ((size_t)snprintf(out, size, "%s", real[len] ? real + len : "/") >= size)
		return -ENAMETOOLONG;
	return 0;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Opens directory @name of the hierarchy if @name is its real path: no "a/../b", no symlink, no
 * other mount on the way. Then the real path need not be looked up, which takes twice as long as
 * opening it. Otherwise negative errno.
 */
static int open_plain(const struct cgroup_fs *fs, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd;

	for (const char *part = name;; part++) {
		size_t len = strcspn(part, "/");

		if (!len || (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.'))))
			return -EINVAL;
		part += len;
		if (!*part)
			break;
	}
	fd = syscall(SYS_openat2, fs->fd, name, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/*
 * The id of the cgroup behind @fd. kernfs uses it as inode number (kernfs_ino() in
 * include/linux/kernfs.h) if inode numbers have 64 bits.
 */
static uint64_t node_id(int fd)
{
	struct stat st;

	static_assert(sizeof(st.st_ino) == sizeof(uint64_t), "an inode number holds a cgroup id");
	return fstat(fd, &st) ? 0 : st.st_ino;
}

int cgroup_find(struct cgroup *cg, const struct cgroup_fs *fs, const char *name)
{
	const char *below = name + strspn(name, "/");
	char full[PATH_MAX], path[PATH_MAX];
	struct statfs sf;
	int fd, err;

	fd = open_plain(fs, below);
	if (fd >= 0) {
		*cg = (struct cgroup){ xstrdup(name), xasprintf("/%s", below), node_id(fd), fd, false };
		return 0;
	}
	if ((size_t)snprintf(full, sizeof(full), "%s/%s", fs->mount, below) >= sizeof(full)) {
		pr_err("cgroup name too long: '%.40s...'", name);
		return -ENAMETOOLONG;
	}
	fd = open_dir(full);
	/*
	 * Not below the hierarchy: an absolute path is accepted only if it leads into a cgroup
	 * mount.
	 */
	if (fd == -ENOENT && name[0] == '/') {
		fd = open_dir(name);
		if (fd >= 0 &&
		    (fstatfs(fd, &sf) || ((unsigned long)sf.f_type != CGROUP2_SUPER_MAGIC &&
					  (unsigned long)sf.f_type != CGROUP_SUPER_MAGIC))) {
			close(fd);
			fd = -ENOENT;
		}
	}
	if (fd < 0) {
		pr_err("no cgroup '%s': %s: '%s'; list cgroups with: find %s -type d", name, strerror(-fd), full,
		       fs->mount);
		return fd;
	}
	err = path_below(fs, fd, path, sizeof(path));
	if (err) {
		pr_err("cgroup '%s' is not in the hierarchy of perf_event, which is mounted at '%s'; "
		       "give its path there", name, fs->mount);
		close(fd);
		return err;
	}
	*cg = (struct cgroup){ xstrdup(name), xstrdup(path), node_id(fd), fd, false };
	return 0;
}

void cgroup_fini(struct cgroup *cg)
{
	close(cg->fd);
	free(cg->name);
	free(cg->path);
}

/* '/' sorts before every other character, so that all cgroups in a cgroup directly follow it. */
int cgroup_path_cmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

const struct cgroup *cgroup_list_find(const struct cgroup_list *list, const char *path)
{
	/* @path can only lie in the last one at or before it. */
	size_t at = BISECT(list->n, i, cgroup_path_cmp(list->v[i].path, path) <= 0);

	return at && cgroup_path_within(path, list->v[at - 1].path) ? &list->v[at - 1] : NULL;
}

size_t cgroup_list_at(const struct cgroup_list *list, const char *path)
{
	return BISECT(list->n, i, cgroup_path_cmp(list->v[i].path, path) < 0);
}

bool cgroup_removed(const struct cgroup *cg)
{
	return faccessat(cg->fd, "cgroup.procs", F_OK, 0) && (errno == ENOENT || errno == ENODEV);
}

int cgroup_reopen(struct cgroup *cg, const struct cgroup_fs *fs)
{
	/* The path found first is complete and without symlinks. */
	int fd = open_plain(fs, cg->path + 1);

	if (fd < 0)
		return fd;
	close(cg->fd);
	cg->fd = fd;
	cg->id = node_id(fd);
	cg->gone = false;
	return 0;
}

bool cgroup_is_root(const struct cgroup *cg)
{
	return cg->id == CGROUP_ROOT_ID;
}

struct walk {
	void (*group)(void *ctx, uint64_t id, const char *path);
	void (*proc)(void *ctx, uint32_t pid);
	void *ctx;
};

/*
 * Reports the pids of cgroup @name in @dirfd. A threaded cgroup refuses (EOPNOTSUPP); its processes
 * are found by their samples.
 */
static void walk_procs(const struct walk *w, int dirfd, const char *name)
{
	char file[NAME_MAX + sizeof("/cgroup.procs")], *text;
	int fd, err;

	snprintf(file, sizeof(file), "%s/cgroup.procs", name);
	fd = openat(dirfd, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	text = nsopen_slurp(fd, PROCS_MAX, NULL, &err);
	close(fd);
	if (!text)
		return;
	for (char *p = text; *p;) {
		unsigned long pid = strtoul(p, &p, 10);

		/* 0 stands for a process outside our pid namespace. */
		if (pid && pid <= INT32_MAX)
			w->proc(w->ctx, (uint32_t)pid);
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	free(text);
}

static void walk_one(const struct walk *w, int dirfd, const char *name, const char *path, int depth);

static void walk_dir(const struct walk *w, int fd, const char *path, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *de;

	if (!dir) {
		close(fd);
		return;
	}
	while ((de = readdir(dir))) {
		char *sub;

		if (de->d_type != DT_DIR || !strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		sub = xasprintf("%s/%s", strcmp(path, "/") ? path : "", de->d_name);
		walk_one(w, fd, de->d_name, sub, depth);
		free(sub);
	}
	closedir(dir);
}

/* Directory @name in @dirfd; its path below the hierarchy is @path. */
static void walk_one(const struct walk *w, int dirfd, const char *name, const char *path, int depth)
{
	struct stat st;
	int fd;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (w->group)
		w->group(w->ctx, st.st_ino, path);
	if (w->proc)
		walk_procs(w, dirfd, name);
	/*
	 * A kernfs directory has two links plus one for each subdirectory (kernfs_refresh_inode()
	 * in fs/kernfs/inode.c). Most cgroups have none, and reading their many files costs more
	 * than everything else.
	 */
	if (st.st_nlink == 2 || depth >= WALK_DEPTH)
		return;
	/* A new descriptor: @dirfd's position is shared with its owner. */
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		walk_dir(w, fd, path, depth + 1);
}

void cgroup_walk(const struct cgroup *cg, void (*group)(void *ctx, uint64_t id, const char *path),
		 void (*proc)(void *ctx, uint32_t pid), void *ctx)
{
	struct walk w = { group, proc, ctx };

	walk_one(&w, cg->fd, ".", cg->path, 0);
}

int cgroup_path_by_id(const struct cgroup_fs *fs, uint64_t id, char *out, size_t size)
{
	union {
		struct file_handle fh;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} u;
	int fd, err;

	if (fs->fd < 0)
		return -ENOENT;
	memset(&u, 0, sizeof(u));
	u.fh.handle_bytes = sizeof(id);
	u.fh.handle_type = FILEID_KERNFS;
	memcpy(u.room + offsetof(struct file_handle, f_handle), &id, sizeof(id));
	fd = open_by_handle_at(fs->fd, &u.fh, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = path_below(fs, fd, out, size);
	close(fd);
	return err;
}
