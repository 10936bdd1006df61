#include "evlist/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evlist/name_list.h"
#include "host/procfs.h"

#define MOUNTINFO_MAX (16u << 20)
#define NAME_LEN_MAX 200u

/* Since Linux 5.2. glibc has them since 2.36 only. The numbers are those of all architectures. */
#ifndef SYS_fsopen
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#define FSOPEN_CLOEXEC_ 1u
#define FSCONFIG_CMD_CREATE_ 6u
#define FSMOUNT_CLOEXEC_ 1u

struct found {
	char *path;
	size_t size;
	bool own;	/* @path is a mount of tracefs itself */
};

static void look(void *ctx, const struct proc_mount *m)
{
	const bool own = !strcmp(m->type, "tracefs");
	struct found *f = ctx;

	if (f->own || strcmp(m->root, "/") || (!own && strcmp(m->type, "debugfs") != 0))
		return;
	if (snprintf(f->path, f->size, "%s%s", m->point, own ? "" : "/tracing") >= (int)f->size)
		f->path[0] = '\0';
	else
		f->own = own;
}

bool tracefs_mounted_at(char *mountinfo, char *path, size_t size)
{
	struct found f = { .path = path, .size = size };

	path[0] = '\0';
	procfs_mountinfo(mountinfo, look, &f);
	return path[0];
}

static int read_all(int dir, const char *path, size_t max, struct strbuf *out)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err = 0;
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf, sizeof(buf))) > 0 && out->len < max)
		strbuf_add(out, buf, (size_t)n);
	if (n)
		err = n < 0 ? -errno : -E2BIG;
	close(fd);
	return err;
}

/* A mount of tracefs that is attached nowhere. It ends with its last descriptor. */
static int mount_privately(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC_), fd;

	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE_, NULL, NULL, 0)) {
		fd = -errno;
		close(fs);
		return fd;
	}
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC_, 0);
	if (fd < 0)
		fd = -errno;
	close(fs);
	return fd;
}

static int open_events(struct tracefs *t, int dir, const char *path)
{
	t->events = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->events < 0 ? -errno : 0;
}

static int find_mounted(char *path, size_t size)
{
	struct strbuf text = STRBUF_INIT;
	int err = read_all(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &text);

	if (!err && (!text.s || !tracefs_mounted_at(text.s, path, size)))
		err = -ENOENT;
	strbuf_fini(&text);
	return err;
}

static const char *remedy(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return "; run as root (sudo). If root may not, kernel lockdown or a security module forbids it";
	case -ENODEV:
		return ": this kernel has no tracefs (CONFIG_TRACING)";
	default:
		return "";
	}
}

/* "tracefs at '/sys/kernel/tracing' cannot be read: Permission denied" */
static int open_at(struct tracefs *t, const char *path, char *why, size_t size)
{
	char events[PATH_MAX + 8];
	int err;

	snprintf(events, sizeof(events), "%s/events", path);
	err = open_events(t, AT_FDCWD, events);
	if (err)
		snprintf(why, size, "tracefs at '%s' cannot be read: %s", path, strerror(-err));
	return err;
}

static int open_private(struct tracefs *t)
{
	int dir = mount_privately(), err = dir;

	if (dir >= 0) {
		err = open_events(t, dir, "events");
		close(dir);
	}
	t->private_mount = !err;
	return err;
}

int tracefs_open(struct tracefs *t, const char *path, char *why, size_t size)
{
	char at[PATH_MAX];
	size_t len;
	int err;

	*t = (struct tracefs){ .events = -1 };
	if (path)
		return open_at(t, path, why, size);
	if (find_mounted(at, sizeof(at)))
		snprintf(why, size, "tracefs is not mounted");
	else if (!open_at(t, at, why, size))
		return 0;
	/* Also where something is mounted over it. */
	err = open_private(t);
	len = strlen(why);
	if (err)
		snprintf(why + len, size - len, ", and mounting it privately failed: %s%s", strerror(-err), remedy(err));
	return err;
}

void tracefs_close(struct tracefs *t)
{
	if (t->events >= 0)
		close(t->events);
	t->events = -1;
}

/* Both come from the command line, and must not lead elsewhere. */
static bool is_name(const char *s)
{
	const size_t len = strlen(s);

	return len && len <= NAME_LEN_MAX && s[0] != '.' && !strchr(s, '/');
}

static int read_of(const struct tracefs *t, const char *group, const char *name, const char *file, struct strbuf *out)
{
	char path[2 * NAME_LEN_MAX + 32];

	if (!is_name(group) || !is_name(name))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s/%s", group, name, file);
	return read_all(t->events, path, TRACEFS_FORMAT_MAX, out);
}

int tracefs_id(const struct tracefs *t, const char *group, const char *name, uint64_t *id)
{
	struct strbuf text = STRBUF_INIT;
	int err = read_of(t, group, name, "id", &text);
	char *end;

	if (!err) {
		strbuf_addc(&text, '\n');
		*id = strtoull(text.s, &end, 10);
		if (end == text.s || *end != '\n')
			err = -EINVAL;
	}
	strbuf_fini(&text);
	return err;
}

int tracefs_format(const struct tracefs *t, const char *group, const char *name, struct strbuf *out)
{
	return read_of(t, group, name, "format", out);
}

/* Beside the folders are files: "enable", "filter". */
static bool is_folder(int folder, const struct dirent *e)
{
	struct stat st;

	if (!is_name(e->d_name))
		return false;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return !fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

size_t tracefs_names(const struct tracefs *t, const char *group, char ***names)
{
	*names = NULL;
	if (group && !is_name(group))
		return 0;
	return name_list(t->events, group ? group : ".", is_folder, names);
}
