#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/util.h"
#include "base/xalloc.h"

#define MODE 0600
/* A name may be left over from a process that was killed and had our number. */
#define TEMP_TRIES 100

static int complain(const char *name, const char *why)
{
	pr_err("cannot write '%s': %s; choose another file with -o", name, why);
	return -EIO;
}

static int complain_errno(const char *name, int err)
{
	complain(name, strerror(-err));
	return err;
}

static int complain_place(const struct outplace *at, const char *name, int err)
{
	complain(name, outplace_error(at, err));
	return err;
}

/* The name that the previous recording gets. Owned. */
static char *old_name(const char *name)
{
	return xasprintf("%s.old", name);
}

/* A file that exists will be renamed, over an older one of that name. */
static int check_old(struct outplace *at)
{
	char *old = old_name(at->name);
	int err = outplace_may_replace(at, at->name);

	if (!err && at->st.st_size)
		err = outplace_may_replace(at, old);
	free(old);
	return err;
}

static int check_place(struct output *out)
{
	struct outplace *at = &out->at;
	int err = outplace_find(at, out->name);

	if (err)
		return err;
	if (at->exists) {
		if (S_ISDIR(at->st.st_mode))
			return -EISDIR;
		if (faccessat(at->dir, at->name, W_OK, AT_EACCESS))
			return -errno;
		/* A device or a pipe is written in place; a file may have to be renamed. */
		if (!S_ISREG(at->st.st_mode))
			return outplace_may_write(at);
		err = check_old(at);
	}
	if (!err && faccessat(at->dir, ".", W_OK | X_OK, AT_EACCESS))
		err = -errno;
	return err;
}

int output_check(struct output *out, const char *path)
{
	struct stat st;
	int err;

	*out = (struct output){ .fd = -1, .at = OUTPLACE_INIT };
	out->name = path ? path : OUTPUT_DEFAULT;
	if (!path && !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode))
		out->name = "-";
	if (!strcmp(out->name, "-")) {
		if (!isatty(STDOUT_FILENO))
			return 0;
		pr_err("standard output is a terminal, which cannot show a recording: write it to a file with -o FILE, or pipe it to a program");
		return -EINVAL;
	}
	if (outfile_is_terminal(out->name)) {
		pr_err("'%s' is a terminal, which cannot show a recording: write it to a file with -o FILE, or pipe it to a program", out->name);
		return -EINVAL;
	}
	if (outfile_descriptor(out->name) >= 0)
		return fcntl(outfile_descriptor(out->name), F_GETFD) < 0 ? complain_errno(out->name, -errno) : 0;
	err = check_place(out);
	return err ? complain_place(&out->at, out->name, err) : 0;
}

/* Pause between two tries to find a reader. */
#define MEET_NS 50000000

int output_meet(struct output *out, const sigset_t *signals, int *signo)
{
	const struct timespec pause = { 0, MEET_NS };
	bool told = false;

	if (out->at.dir < 0 || !out->at.exists || !S_ISFIFO(out->at.st.st_mode))
		return 0;
	/* open(2) would wait as well, but the signals that should end the wait are blocked. */
	while ((out->fd = outplace_open(&out->at, O_WRONLY | O_NONBLOCK)) == -ENXIO) {
		int sig;

		if (!told)
			pr_info("waiting for somebody to read from '%s'", out->name);
		told = true;
		sig = sigtimedwait(signals, NULL, &pause);
		if (sig > 0 && sig != SIGCHLD && sig != SIGUSR2) {
			out->fd = -1;
			*signo = sig;
			return -EINTR;
		}
	}
	if (out->fd < 0) {
		int err = complain_place(&out->at, out->name, out->fd);

		out->fd = -1;
		return err;
	}
	fcntl(out->fd, F_SETFL, O_WRONLY);
	out->met = true;
	return 0;
}

/*
 * It has no name until output_commit(), or a temporary one, so that a failed start leaves what is
 * there. A start that is killed leaves the temporary one.
 */
static int open_new(struct output *out)
{
	int fd = outplace_create_nameless(&out->at, MODE);

	out->nameless = fd >= 0;
	if (out->nameless)
		return fd;
	fd = -EEXIST;
	for (unsigned int i = 0; i < TEMP_TRIES && fd == -EEXIST; i++) {
		free(out->temp);
		out->temp = xasprintf("%s.%d-%u.tmp", out->at.name, (int)getpid(), i);
		fd = outplace_create(&out->at, out->temp, MODE);
	}
	if (fd < 0) {
		free(out->temp);
		out->temp = NULL;
	}
	return fd;
}

int output_open(struct output *out)
{
	struct outplace *at = &out->at;
	int err;

	if (!strcmp(out->name, "-")) {
		out->fd = STDOUT_FILENO;
		return 0;
	}
	if (out->met)
		return 0;
	/* Somebody else opened it and may have written to it: neither rename nor truncate it. */
	if (outfile_descriptor(out->name) >= 0) {
		out->fd = fcntl(outfile_descriptor(out->name), F_DUPFD_CLOEXEC, 0);
		return out->fd < 0 ? complain_errno(out->name, -errno) : 0;
	}
	at->exists = !fstatat(at->dir, at->name, &at->st, at->magic ? 0 : AT_SYMLINK_NOFOLLOW);
	err = at->exists && S_ISREG(at->st.st_mode) ? check_old(at) : 0;
	if (!err)
		out->fd = at->exists && (!S_ISREG(at->st.st_mode) || at->proc) ? outplace_open(at, O_WRONLY) : open_new(out);
	if (err || out->fd < 0) {
		err = err ? err : out->fd;
		out->fd = -1;
		return complain_place(at, out->name, err);
	}
	return 0;
}

/* An empty file is no recording. */
static int put_aside(struct output *out)
{
	struct outplace *at = &out->at;
	char *old;
	struct stat st;
	int err;

	if (fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	err = outplace_may_replace(at, at->name);
	if (err || !st.st_size)
		return err ? err : unlinkat(at->dir, at->name, 0) ? -errno : 0;
	old = old_name(at->name);
	err = outplace_may_replace(at, old);
	if (!err && renameat(at->dir, at->name, at->dir, old))
		err = -errno;
	if (err)
		pr_err("cannot rename '%s' to '%s.old': %s", out->name, at->path, outplace_error(at, err));
	free(old);
	return err;
}

int output_commit(struct output *out)
{
	int err;

	if (!output_pending(out))
		return 0;
	err = put_aside(out);
	if (err)
		return err;
	err = out->nameless ? outplace_name(&out->at, out->fd, out->at.name) : outplace_rename_new(&out->at, out->temp, out->at.name);
	if (err)
		return complain_place(&out->at, out->name, err);
	free(out->temp);
	out->temp = NULL;
	out->nameless = false;
	return 0;
}

bool output_pending(const struct output *out)
{
	return out->temp || out->nameless;
}

void output_undo(struct output *out)
{
	if (out->temp)
		unlinkat(out->at.dir, out->temp, 0);
	free(out->temp);
	out->temp = NULL;
	out->nameless = false;
	output_close(out);
}

void output_look(const struct output *out, const char *name)
{
	struct stat ours, there;

	if (out->fd < 0 || out->fd == STDOUT_FILENO || fstat(out->fd, &ours) || !S_ISREG(ours.st_mode))
		return;
	if (!stat(name, &there) && there.st_dev == ours.st_dev && there.st_ino == ours.st_ino)
		return;
	pr_warn("'%s' was %s during the recording%s", name, ours.st_nlink ? "moved" : "removed",
		ours.st_nlink ? "" : ": the recording is lost");
}

bool output_stays(const struct output *out)
{
	struct stat st;

	return strcmp(out->name, "-") != 0 && (out->fd < 0 || fstat(out->fd, &st) || S_ISREG(st.st_mode));
}

const char *output_shown(const struct output *out)
{
	return strcmp(out->name, "-") ? out->name : "standard output";
}

int output_close(struct output *out)
{
	int err = 0;

	if (out->fd >= 0 && out->fd != STDOUT_FILENO && close(out->fd))
		err = -errno;
	out->fd = -1;
	return err;
}

/* ---- more than one file ---- */

int output_check_many(const struct output *out, const char *option)
{
	if (!strcmp(out->name, "-"))
		pr_err("%s writes more than one file, but standard output takes only one: use -o FILE",
		       option);
	else if (outfile_descriptor(out->name) >= 0 || (out->at.exists && !S_ISREG(out->at.st.st_mode)))
		pr_err("%s writes more than one file, but '%s' is not a regular file: use -o FILE", option,
		       out->name);
	else
		return 0;
	return -EINVAL;
}

/*
 * perf's form, FILE.2026112122224873: local time in hundredths of a second. Adds @later hundredths.
 */
static char *stamped(const char *path, unsigned int later)
{
	struct timespec ts;
	char text[32];
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 10000000l * later;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	if (!localtime_r(&ts.tv_sec, &tm) || !strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm))
		snprintf(text, sizeof(text), "%lld", (long long)ts.tv_sec);
	return xasprintf("%s.%s%02ld", path, text, ts.tv_nsec / 10000000);
}

/* For two ends in the same hundredth of a second, or a clock set back: no file is overwritten. */
#define STAMP_TRIES 100

/* The path of @name, a file beside FILE. Owned. */
static char *beside(const struct output *out, const char *name)
{
	const char *slash = strrchr(out->at.path, '/');

	return xasprintf("%.*s%s", slash ? (int)(slash + 1 - out->at.path) : 0, out->at.path, name);
}

/* Takes ownership of @name, a file beside FILE. Returns its path. */
static const char *made(struct output *out, char *name)
{
	XGROW(out->made, out->nmade, out->made_cap);
	out->made[out->nmade] = beside(out, name);
	free(name);
	return out->made[out->nmade++];
}

const char *output_stamp(struct output *out)
{
	int err = outplace_stays(&out->at);
	char *to = stamped(out->at.name, 0);

	if (!err)
		err = outplace_rename_new(&out->at, out->at.name, to);
	for (unsigned int i = 1; i < STAMP_TRIES && err == -EEXIST; i++) {
		free(to);
		to = stamped(out->at.name, i);
		err = outplace_rename_new(&out->at, out->at.name, to);
	}
	if (err) {
		char *path = beside(out, to);

		pr_err("cannot rename '%s' to '%s': %s", out->at.path, path, strerror(-err));
		free(path);
		free(to);
		return NULL;
	}
	return made(out, to);
}

int output_open_stamped(struct output *out, const char **name)
{
	int err = outplace_stays(&out->at), fd;
	char *file = stamped(out->at.name, 0);

	fd = err ? err : outplace_create(&out->at, file, MODE);
	for (unsigned int i = 1; i < STAMP_TRIES && fd == -EEXIST; i++) {
		free(file);
		file = stamped(out->at.name, i);
		fd = outplace_create(&out->at, file, MODE);
	}
	if (fd < 0) {
		char *path = beside(out, file);

		complain_errno(path, fd);
		free(path);
		free(file);
	} else {
		*name = made(out, file);
	}
	return fd;
}

/* The latest part of the path is the name. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void output_remove(const struct output *out, const char *path)
{
	if (unlinkat(out->at.dir, name_of(path), 0) && errno != ENOENT)
		pr_warn("cannot remove '%s': %s", path, strerror(errno));
}

void output_prune(struct output *out, uint64_t max)
{
	/* Without a limit, drop names that nobody needs any more, so that they do not add up. */
	while (out->nmade > MAX(max, (uint64_t)1)) {
		if (max)
			output_remove(out, out->made[0]);
		free(out->made[0]);
		out->nmade--;
		memmove(out->made, out->made + 1, out->nmade * sizeof(*out->made));
	}
}

void output_fini(struct output *out)
{
	output_close(out);
	for (size_t i = 0; i < out->nmade; i++)
		free(out->made[i]);
	outplace_fini(&out->at);
	free(out->temp);
	out->temp = NULL;
	free(out->made);
	out->made = NULL;
	out->nmade = out->made_cap = 0;
}
