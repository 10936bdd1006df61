#include "base/outplace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"

#define ROOT_UID 0
#define LINKS_MAX 40	/* as in the kernel */

/* ---- whom to trust ---- */

/* Who owns the root directory can change every path. It is not 0 in a user namespace without root. */
static bool is_root(uid_t uid)
{
	struct stat st;

	return uid == ROOT_UID || (!stat("/", &st) && st.st_uid == uid);
}

static bool is_ours(uid_t uid)
{
	return uid == geteuid();
}

/* The user who called sudo, if we run as root. sudo(8) sets the variable itself. */
static bool is_callers(uid_t uid)
{
	const char *text = getenv("SUDO_UID");
	char *end;
	unsigned long v;

	if (geteuid() != ROOT_UID || !text || text[0] < '0' || text[0] > '9')
		return false;
	v = strtoul(text, &end, 10);
	return !*end && v == uid;
}

static bool is_safe(const struct stat *dir)
{
	return (is_root(dir->st_uid) || is_ours(dir->st_uid)) && !(dir->st_mode & (S_IWGRP | S_IWOTH));
}

static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode) ? "symbolic link" : S_ISFIFO(mode) ? "FIFO" : S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : "device";
}

/* Notes why @what is refused. Returns -EPERM. */
static int refuse(struct outplace *p, const char *what, const struct stat *st, const char *reason)
{
	free(p->why);
	p->why = xasprintf("'%s' is a %s of user %u in a directory that others can write to%s", what, kind_of(st->st_mode),
			   (unsigned int)st->st_uid, reason);
	return -EPERM;
}

const char *outplace_error(const struct outplace *p, int err)
{
	return err == -EPERM && p->why ? p->why : strerror(-err);
}

/* ---- the way ---- */

/* A path that is being followed. */
struct walk {
	struct outplace *p;
	char *rest;		/* owned; what is left of the path */
	char *seen;		/* owned; the path so far, for messages */
	unsigned int links;
};

static bool in_proc(int dir)
{
	struct statfs fs;

	return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* The path up to @name, for people. Owned. */
static char *seen_with(const struct walk *w, const char *name)
{
	if (name[0] == '/' || !w->seen || !strcmp(w->seen, "."))
		return xstrdup(name);
	return xasprintf("%s%s%s", w->seen, w->seen[strlen(w->seen) - 1] == '/' ? "" : "/", name);
}

static int enter(struct walk *w, int fd, const char *name)
{
	char *seen;

	if (fd < 0)
		return -errno;
	if (w->p->dir >= 0)
		close(w->p->dir);
	w->p->dir = fd;
	seen = seen_with(w, name);
	free(w->seen);
	w->seen = seen;
	return 0;
}

static int begin(struct walk *w, const char *path)
{
	const char *top = path[0] == '/' ? "/" : ".";

	return w->p->dir < 0 || path[0] == '/' ? enter(w, open(top, O_PATH | O_DIRECTORY | O_CLOEXEC), top) : 0;
}

/* Takes the next name of the path. *@last: nothing comes behind it, not even a slash. */
static char *take(struct walk *w, bool *last)
{
	char *at = w->rest + strspn(w->rest, "/"), *name;
	size_t len = strcspn(at, "/");

	name = xstrndup(at, len);
	*last = !at[len];
	memmove(w->rest, at + len, strlen(at + len) + 1);
	return name;
}

/* May the link @name, with status @st, be followed? @last: to the file, not to a directory. */
static int check_link(struct walk *w, const char *name, const struct stat *st, bool last)
{
	struct stat dir;
	char *whole;
	int err;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (fstat(w->p->dir, &dir))
		return -errno;
	if (is_safe(&dir) || is_root(st->st_uid) || is_ours(st->st_uid) || (!last && is_callers(st->st_uid)))
		return 0;
	whole = seen_with(w, name);
	err = refuse(w->p, whole, st, "");
	free(whole);
	return err;
}

/* Puts what the link @name says in front of the rest. */
static int follow(struct walk *w, const char *name, bool last)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(w->p->dir, name, target, sizeof(target) - 1);
	char *rest;

	if (n < 0)
		return -errno;
	if (!n)
		return -ENOENT;
	target[n] = '\0';
	rest = xasprintf("%s%s%s", target, last ? "" : "/", w->rest);
	free(w->rest);
	w->rest = rest;
	return begin(w, target);
}

/* The place is @name of the directory that was reached. Takes ownership of @name. */
static int arrive(struct walk *w, char *name)
{
	struct outplace *p = w->p;
	struct stat dir;

	p->name = name;
	p->path = seen_with(w, name);
	if (fstat(p->dir, &dir))
		return -errno;
	p->shared = !is_safe(&dir);
	p->proc = in_proc(p->dir);
	return 0;
}

/* One name of the path. 1: that was the last one. */
static int step(struct walk *w)
{
	struct outplace *p = w->p;
	bool last, dots, link;
	char *name = take(w, &last);
	int err;

	dots = !name[0] || !strcmp(name, ".") || !strcmp(name, "..");
	if (dots && last) {
		free(name);
		return -EISDIR;
	}
	if (!name[0] || !strcmp(name, ".")) {
		free(name);
		return 0;
	}
	p->exists = !fstatat(p->dir, name, &p->st, AT_SYMLINK_NOFOLLOW);
	if (!p->exists && (errno != ENOENT || !last)) {
		err = -errno;
		free(name);
		return err;
	}
	link = p->exists && S_ISLNK(p->st.st_mode);
	err = link ? check_link(w, name, &p->st, last) : 0;
	p->magic = link && in_proc(p->dir);
	if (!err && last && p->magic)
		err = fstatat(p->dir, name, &p->st, 0) ? -errno : 0;
	if (!err && last && (!link || p->magic)) {
		err = arrive(w, name);
		return err ? err : 1;
	}
	if (!err && link && !p->magic)
		err = follow(w, name, last);
	else if (!err)
		err = enter(w, openat(p->dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC | (link ? 0 : O_NOFOLLOW)), name);
	free(name);
	return err;
}

int outplace_find(struct outplace *p, const char *path)
{
	struct walk w = { .p = p, .rest = xstrdup(path) };
	int err;

	*p = (struct outplace)OUTPLACE_INIT;
	err = path[0] ? begin(&w, path) : -ENOENT;
	while (!err)
		err = step(&w);
	free(w.rest);
	free(w.seen);
	return err < 0 ? err : 0;
}

void outplace_fini(struct outplace *p)
{
	if (p->dir >= 0)
		close(p->dir);
	free(p->name);
	free(p->path);
	free(p->why);
	*p = (struct outplace)OUTPLACE_INIT;
}

/* ---- what is there ---- */

int outplace_may_replace(struct outplace *p, const char *name)
{
	struct stat st;

	if (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!p->shared)
		return 0;
	if (!S_ISREG(st.st_mode) || !(is_ours(st.st_uid) || is_callers(st.st_uid)))
		return refuse(p, name, &st, "");
	return st.st_nlink > 1 ? refuse(p, name, &st, ", and has another name, too") : 0;
}

int outplace_may_write(struct outplace *p)
{
	const struct stat *st = &p->st;

	if (!p->shared || p->magic)
		return 0;
	return is_root(st->st_uid) || is_ours(st->st_uid) || is_callers(st->st_uid) ? 0 : refuse(p, p->name, st, "");
}

/* Could others read what we write to it? */
static bool is_open(const struct outplace *p)
{
	return p->shared && !p->magic && S_ISFIFO(p->st.st_mode) && p->st.st_mode & S_IROTH;
}

int outplace_open(struct outplace *p, int flags)
{
	struct stat st;
	int fd, err = outplace_may_write(p);

	if (err)
		return err;
	if ((flags & O_ACCMODE) == O_WRONLY && is_open(p))
		return refuse(p, p->name, &p->st, ", and others can read from it (chmod 600)");
	fd = openat(p->dir, p->name, flags | O_CLOEXEC | O_NOCTTY | (p->magic ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	/* Another one may be there by now. */
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && (st.st_ino != p->st.st_ino || st.st_dev != p->st.st_dev))
		err = -EAGAIN;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* ---- new files ---- */

mode_t outplace_mode(void)
{
	return geteuid() == ROOT_UID ? 0600 : 0666;
}

int outplace_create(const struct outplace *p, const char *name, mode_t mode)
{
	int fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

int outplace_create_nameless(const struct outplace *p, mode_t mode)
{
	int fd = openat(p->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

int outplace_name(const struct outplace *p, int fd, const char *name)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, p->dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

int outplace_stays(const struct outplace *p)
{
	const char *slash = strrchr(p->path, '/');
	char *dir = slash ? xstrndup(p->path, (size_t)(slash + 1 - p->path)) : xstrdup(".");
	struct stat now, ours;
	int err = stat(dir, &now) || fstat(p->dir, &ours) ? -errno : 0;

	free(dir);
	return err ? err : now.st_dev == ours.st_dev && now.st_ino == ours.st_ino ? 0 : -ENOENT;
}

int outplace_rename_new(const struct outplace *p, const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(p->dir, from, p->dir, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* The file system cannot do that, so a race remains. */
	if (!fstatat(p->dir, to, &st, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(p->dir, from, p->dir, to) ? -errno : 0;
}

int outplace_mkdir(const char *path)
{
	struct outplace p;
	char *plain = xstrdup(path);
	size_t len = strlen(plain);
	int err;

	while (len > 1 && plain[len - 1] == '/')
		plain[--len] = '\0';
	err = outplace_find(&p, plain);
	if (err == -EISDIR)
		err = -EEXIST;
	else if (!err && mkdirat(p.dir, p.name, geteuid() == ROOT_UID ? 0700 : 0777))
		err = -errno;
	if (err && err != -EEXIST)
		pr_err("cannot create directory '%s': %s", path, outplace_error(&p, err));
	outplace_fini(&p);
	free(plain);
	return err;
}
