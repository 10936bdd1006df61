#include "host/fstrust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/procfs.h"
#include "host/rawopen.h"

#define MOUNTINFO_MAX (64u << 20)
/* Options of one overlay: a page of them, and more since Linux 6.5 ("lowerdir+="). */
#define OPTION_MAX (64u << 10)
/* An overlay may lie on an overlay (FILESYSTEM_MAX_STACK_DEPTH is 2). */
#define DEPTH_MAX 3
#define KNOWN_MAX 256

#define XFS_MAGIC 0x58465342
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e
#define UDF_MAGIC 0x15013346
#define JFS_MAGIC 0x3153464a
#define VFAT_MAGIC 0x4d44
#define EXFAT_MAGIC 0x2011bab0
#define NTFS3_MAGIC 0x7366746e

/*
 * On a disk or in memory. Not proc and its like: a container may mount /proc/PID/maps over any file,
 * and reading that waits for the process.
 */
static bool is_local(const struct statfs *fs)
{
	static const unsigned long local[] = {
		EXT4_SUPER_MAGIC, XFS_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, ZFS_MAGIC, BCACHEFS_MAGIC,
		TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC, SQUASHFS_MAGIC, EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,
		CRAMFS_MAGIC, UDF_MAGIC, JFS_MAGIC, REISERFS_SUPER_MAGIC, NILFS_SUPER_MAGIC, VFAT_MAGIC, EXFAT_MAGIC,
		NTFS3_MAGIC,
	};

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if ((unsigned long)fs->f_type == local[i])
			return true;
	return false;
}

/* ---- overlays: their layers, from a mount table that tenants cannot write ---- */

/* Ours, and that of the first process: in a pod, the containers' mounts are only in the latter. */
static struct table {
	const char *name;	/* of the process in rawopen_proc() */
	int mountinfo;		/* poll(2) reports its changes; -1: not open */
	int root;		/* O_PATH; paths in the table lie below it */
	bool tried;
} tables[] = { { "self", -1, -1, false }, { "1", -1, -1, false } };

static struct known {
	dev_t dev;
	bool answers;
} known[KNOWN_MAX];
static size_t nknown;

static int open_of(const struct table *t, const char *name, int flags)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", rawopen_proc(), t->name, name) >= sizeof(path))
		return -1;
	return open(path, flags | O_CLOEXEC);
}

static void open_table(struct table *t)
{
	if (t->tried)
		return;
	t->tried = true;
	t->mountinfo = open_of(t, "mountinfo", O_RDONLY);
	t->root = open_of(t, "root", O_PATH | O_DIRECTORY);
}

/* Device numbers of unmounted overlays are given to others. */
static void forget_if_changed(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		struct pollfd p = { .fd = tables[i].mountinfo, .events = POLLPRI };

		if (p.fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLPRI | POLLERR)))
			nknown = 0;
	}
}

static bool dev_answers(dev_t dev, int depth);

static bool layer_answers(int fd, int depth)
{
	struct statfs fs;
	struct stat st;
	bool yes;

	yes = !fstatfs(fd, &fs) && (is_local(&fs) || ((unsigned long)fs.f_type == OVERLAYFS_SUPER_MAGIC &&
						      !fstat(fd, &st) && dev_answers(st.st_dev, depth + 1)));
	close(fd);
	return yes;
}

/*
 * Opens a layer. docker and containerd change to a folder above the layers and give paths relative
 * to that, so that more of them fit: it is above @upper.
 */
static int open_layer(const struct table *t, const char *path, const char *upper)
{
	char full[PATH_MAX];
	int fd = -1;

	if (path[0] == '/')
		return rawopen_below(t->root, path, O_PATH | O_DIRECTORY, 0);
	for (size_t len = strlen(upper); len && fd < 0; len--) {
		if (upper[len - 1] != '/')
			continue;
		if ((size_t)snprintf(full, sizeof(full), "%.*s%s", (int)len, upper, path) < sizeof(full))
			fd = rawopen_below(t->root, full, O_PATH | O_DIRECTORY, 0);
	}
	return fd;
}

/* @layers: separated by ':'; "\:" is part of a name. Modified. */
static bool layers_answer(const struct table *t, char *layers, const char *upper, int depth)
{
	char *to = layers, *from = layers;
	bool more = true;

	while (more) {
		char *begin = to;
		int fd;

		for (; *from && *from != ':'; *to++ = *from++)
			if (*from == '\\' && from[1])
				from++;
		more = *from++ == ':';
		*to++ = '\0';
		if (!*begin)	/* "::" comes before layers with data only */
			continue;
		fd = open_layer(t, begin, upper);
		if (fd < 0 || !layer_answers(fd, depth))
			return false;
	}
	return true;
}

struct search {
	const struct table *t;
	dev_t dev;
	int depth;
	bool found, answers;
};

static void look_at(void *ctx, const struct proc_mount *m)
{
	struct search *s = ctx;
	char *lower, *upper;

	if (s->found || makedev(m->dev_major, m->dev_minor) != s->dev || strcmp(m->type, "overlay") != 0)
		return;
	s->found = true;
	lower = xmalloc(2 * OPTION_MAX);
	upper = lower + OPTION_MAX;
	if (!procfs_mount_option(m->options, "upperdir", upper, OPTION_MAX))
		upper[0] = '\0';
	/* Layers given one by one (Linux 6.5) are not looked at. */
	s->answers = procfs_mount_option(m->options, "lowerdir", lower, OPTION_MAX) &&
		     layers_answer(s->t, lower, upper, s->depth);
	if (s->answers && upper[0]) {
		int fd = open_layer(s->t, upper, "");

		s->answers = fd >= 0 && layer_answers(fd, s->depth);
	}
	free(lower);
}

static bool search(dev_t dev, int depth)
{
	struct search s = { .dev = dev, .depth = depth };

	for (size_t i = 0; i < ARRAY_SIZE(tables) && !s.found; i++) {
		int fd, err;
		char *text;

		s.t = &tables[i];
		/* From the beginning; the other descriptor is for poll(2). */
		fd = tables[i].root < 0 ? -1 : open_of(&tables[i], "mountinfo", O_RDONLY);
		if (fd < 0)
			continue;
		text = rawopen_slurp(fd, MOUNTINFO_MAX, NULL, &err);
		close(fd);
		if (text)
			procfs_mountinfo(text, look_at, &s);
		free(text);
	}
	return s.found && s.answers;
}

static bool dev_answers(dev_t dev, int depth)
{
	bool answers;

	if (depth >= DEPTH_MAX)
		return false;
	for (size_t i = 0; i < nknown; i++)
		if (known[i].dev == dev)
			return known[i].answers;
	answers = search(dev, depth);
	if (nknown == KNOWN_MAX)
		nknown = 0;
	known[nknown++] = (struct known){ dev, answers };
	return answers;
}

static bool same_mount(int a, int b)
{
	struct statx x, y;

	return !statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) && !statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) &&
	       (x.stx_mask & y.stx_mask & STATX_MNT_ID) && x.stx_mnt_id == y.stx_mnt_id;
}

bool fstrust_answers(int fd, const struct stat *st, int rootfd)
{
	struct statfs fs;
	struct stat root;

	if (fstatfs(fd, &fs))
		return false;
	if ((unsigned long)fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return is_local(&fs);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		open_table(&tables[i]);
	forget_if_changed();
	if (dev_answers(st->st_dev, 0))
		return true;
	return rootfd >= 0 && same_mount(fd, rootfd) && !fstat(rootfd, &root) && root.st_dev != st->st_dev &&
	       dev_answers(root.st_dev, 0);
}
