#include "host/hungmount.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/procfs.h"
#include "host/rawopen.h"

/* A tenant can have 100,000 mounts; reading this much takes a few milliseconds. */
#define MOUNTINFO_MAX (1u << 20)
#define TEXT_MAX 512

/* ---- which mount ---- */

static uint64_t mount_of(int fd)
{
	char text[TEXT_MAX];
	const char *id;

	if (fd < 0 || !rawopen_fdinfo(fd, text, sizeof(text)))
		return 0;
	id = strstr(text, "\nmnt_id:");
	return id ? strtoull(id + 8, NULL, 10) : 0;
}

/*
 * Follows @path as far as the kernel remembers it, which a mount point always is. The operation that
 * hangs holds the mount, so that closing never unmounts it.
 */
static uint64_t mount_below(int rootfd, const char *path)
{
	char part[PATH_MAX];
	uint64_t id = 0;

	if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
		return 0;
	for (;;) {
		int fd = rawopen_below(rootfd, *part ? part : "/", O_PATH, RAWOPEN_CACHED);
		char *slash = strrchr(part, '/');

		if (fd >= 0) {
			id = mount_of(fd);
			close(fd);
			break;
		}
		if (!*part)
			break;
		*(slash ? slash : part) = '\0';
	}
	return id;
}

static uint64_t mount_of_op(const struct fileop *op)
{
	switch (op->kind) {
	case FILEOP_STAT:
	case FILEOP_COPY:
	case FILEOP_FILE:
	case FILEOP_DIR:
	case FILEOP_LIST:
		return op->path ? mount_below(op->fd[0], op->path) : mount_of(op->fd[0]);
	case FILEOP_FIRST:
		return mount_below(op->fd[op->path[0] != '/'], op->path);
	default:
		return 0;
	}
}

/* ---- what it is ---- */

/*
 * File systems that wait for somebody. A path may lead through links that the kernel does not
 * remember. Then the mount that was found comes earlier in the path, and answers.
 */
static bool is_slow(const char *type)
{
	static const char *const slow[] = {
		"fuse", "nfs", "9p", "cifs", "smb", "ceph", "virtiofs", "afs", "overlay", "lustre", "gfs2", "ocfs2", "autofs",
		"coda", "orangefs", "beegfs", "gpfs", "vboxsf", "prl_fs",
	};

	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		if (!strncmp(type, slow[i], strlen(slow[i])))
			return true;
	return false;
}

struct search {
	dev_t dev;
	struct hungmount *hm;
};

static void look_at(void *ctx, const struct proc_mount *m)
{
	struct search *s = ctx;

	if (s->hm->point || !is_slow(m->type))
		return;
	if (s->hm->id ? m->id != s->hm->id : !s->dev || makedev(m->dev_major, m->dev_minor) != s->dev)
		return;
	s->hm->id = m->id;
	free(s->hm->type);
	s->hm->type = xstrdup(m->type);
	s->hm->point = xstrdup(m->point);
}

static void look_up(uint32_t pid, dev_t dev, struct hungmount *hm)
{
	struct search s = { dev, hm };
	char path[PATH_MAX], *text;
	int fd, err, n;

	if (pid)
		n = snprintf(path, sizeof(path), "%s/%" PRIu32 "/mountinfo", rawopen_proc(), pid);
	else
		n = snprintf(path, sizeof(path), "/proc/self/mountinfo");
	fd = (size_t)n < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	text = rawopen_slurp(fd, MOUNTINFO_MAX, NULL, &err);
	close(fd);
	if (text)
		procfs_mountinfo(text, look_at, &s);
	free(text);
}

/* ---- where the opener waits ---- */

/*
 * Functions of the kernel in which somebody waits for such a file system, or for the lock of a process's
 * mappings (type NULL), by the beginnings of their names.
 */
static const struct {
	const char *function, *type;
} waits[] = {
	{ "proc_map_files", NULL }, { "map_files", NULL }, { "__access_remote_vm", NULL }, { "access_remote_vm", NULL },
	{ "m_start", NULL }, { "lock_vma", NULL }, { "rwsem_down", NULL }, { "__mmap", NULL },
	{ "request_wait_answer", "fuse" }, { "fuse_", "fuse" }, { "rpc_wait_bit", "nfs" }, { "nfs", "nfs" },
	{ "p9_", "9p" }, { "wait_for_response", "cifs" }, { "cifs_", "cifs" }, { "smb2_", "cifs" }, { "ceph_", "ceph" },
};

static void look_where(pid_t opener, struct hungmount *hm)
{
	char path[64], text[TEXT_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)opener);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		if (strncmp(text, waits[i].function, strlen(waits[i].function)))
			continue;
		hm->waits = true;
		if (!waits[i].type)
			hm->memory = true;
		else if (!hm->type)
			hm->type = xstrdup(waits[i].type);
		break;
	}
}

void hungmount_find(const struct fileop *op, pid_t opener, uint32_t pid, dev_t dev, struct hungmount *out)
{
	*out = (struct hungmount){ .id = mount_of_op(op) };
	look_where(opener, out);
	if (out->memory)
		out->id = 0;
	else if (out->id || dev)
		look_up(pid, dev, out);
}

void hungmount_fini(struct hungmount *hm)
{
	free(hm->type);
	free(hm->point);
}
