#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
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

static int complain(const char *name, int err)
{
	pr_err("cannot write '%s': %s; choose another file with -o", name, strerror(-err));
	return err;
}

int output_check(struct output *out, const char *path)
{
	struct stat st;
	char *copy;
	int err = 0;

	*out = (struct output){ .fd = -1 };
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
		return fcntl(outfile_descriptor(out->name), F_GETFD) < 0 ? complain(out->name, -errno) : 0;
	if (!stat(out->name, &st)) {
		if (S_ISDIR(st.st_mode))
			return complain(out->name, -EISDIR);
		/* A device or a pipe is written in place; a file may have to be renamed. */
		if (access(out->name, W_OK))
			return complain(out->name, -errno);
		if (!S_ISREG(st.st_mode))
			return 0;
	}
	copy = xstrdup(out->name);
	if (access(dirname(copy), W_OK | X_OK))
		err = -errno;
	free(copy);
	return err ? complain(out->name, err) : 0;
}

/* Pause between two tries to find a reader. */
#define MEET_NS 50000000

int output_meet(struct output *out, const sigset_t *signals, int *signo)
{
	const struct timespec pause = { 0, MEET_NS };
	struct stat st;
	bool told = false;

	if (!strcmp(out->name, "-") || outfile_descriptor(out->name) >= 0 || stat(out->name, &st) || !S_ISFIFO(st.st_mode))
		return 0;
	/* open(2) would wait as well, but the signals that should end the wait are blocked. */
	while ((out->fd = open(out->name, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO) {
		int sig;

		if (!told)
			pr_info("waiting for somebody to read from '%s'", out->name);
		told = true;
		sig = sigtimedwait(signals, NULL, &pause);
		if (sig > 0 && sig != SIGCHLD && sig != SIGUSR2) {
			*signo = sig;
			return -EINTR;
		}
	}
	if (out->fd < 0)
		return complain(out->name, -errno);
	fcntl(out->fd, F_SETFL, O_WRONLY);
	out->met = true;
	return 0;
}

int output_open(struct output *out)
{
	struct stat st;
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY;

	if (!strcmp(out->name, "-")) {
		out->fd = STDOUT_FILENO;
		return 0;
	}
	if (out->met)
		return 0;
	/* Somebody else opened it and may have written to it: neither rename nor truncate it. */
	if (outfile_descriptor(out->name) >= 0) {
		out->fd = fcntl(outfile_descriptor(out->name), F_DUPFD_CLOEXEC, 0);
		return out->fd < 0 ? complain(out->name, -errno) : 0;
	}
	if (!stat(out->name, &st) && S_ISREG(st.st_mode) && st.st_size) {
		/*
		 * A link keeps leading to the newest recording; the old one is next to the link's
		 * target.
		 */
		char *real = realpath(out->name, NULL);
		char *old = xasprintf("%s.old", real ? real : out->name);
		int err = rename(real ? real : out->name, old) ? -errno : 0;

		if (err)
			pr_err("cannot rename '%s' to '%s': %s", out->name, old, strerror(-err));
		if (err) {
			free(real);
			free(old);
			return err;
		}
		out->path = real ? real : xstrdup(out->name);
		out->old = old;
	}
	out->fd = open(out->name, flags, 0600);
	if (out->fd < 0) {
		int err = complain(out->name, -errno);

		output_undo(out);
		return err;
	}
	return 0;
}

static void forget_old(struct output *out)
{
	free(out->path);
	free(out->old);
	out->path = out->old = NULL;
}

void output_undo(struct output *out)
{
	struct stat st;
	bool file = out->fd >= 0 && !fstat(out->fd, &st) && S_ISREG(st.st_mode) && !st.st_size;

	/* Standard output is never ours to remove. */
	if (file && out->fd != STDOUT_FILENO && outfile_descriptor(out->name) < 0 && !out->old)
		unlink(out->name);
	if (out->old && (file || out->fd < 0) && rename(out->old, out->path))
		pr_warn("cannot rename '%s' back to '%s': %s", out->old, out->path, strerror(errno));
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
	forget_old(out);
	return err;
}

/* ---- more than one file ---- */

int output_check_many(const struct output *out, const char *option)
{
	struct stat st;

	if (!strcmp(out->name, "-"))
		pr_err("%s writes more than one file, but standard output takes only one: use -o FILE",
		       option);
	else if (outfile_descriptor(out->name) >= 0 || (!stat(out->name, &st) && !S_ISREG(st.st_mode)))
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

/* rename(2) that never replaces a file. If the file system cannot do that, a race remains. */
static int rename_new(const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!lstat(to, &st))
		return -EEXIST;
	return rename(from, to) ? -errno : 0;
}

/* Takes ownership of @name. */
static const char *made(struct output *out, char *name)
{
	XGROW(out->made, out->nmade, out->made_cap);
	return out->made[out->nmade++] = name;
}

/*
 * The path of FILE. If FILE is a link: of its target, so that the link leads to what is written.
 * Owned.
 */
static char *behind_link(const struct output *out)
{
	struct stat st;
	char *real = NULL;

	if (!lstat(out->name, &st) && S_ISLNK(st.st_mode))
		real = realpath(out->name, NULL);
	return real ? real : xstrdup(out->name);
}

const char *output_stamp(struct output *out)
{
	char *from = behind_link(out), *to = NULL;
	int err = -EEXIST;

	for (unsigned int i = 0; i < STAMP_TRIES && err == -EEXIST; i++) {
		free(to);
		to = stamped(from, i);
		err = rename_new(from, to);
	}
	if (err) {
		pr_err("cannot rename '%s' to '%s': %s", from, to, strerror(-err));
		free(to);
		to = NULL;
	}
	free(from);
	return to ? made(out, to) : NULL;
}

int output_open_stamped(struct output *out, const char **name)
{
	char *base = behind_link(out), *path = NULL;
	int fd = -1;

	errno = EEXIST;
	for (unsigned int i = 0; i < STAMP_TRIES && fd < 0 && errno == EEXIST; i++) {
		free(path);
		path = stamped(base, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
	}
	if (fd < 0) {
		fd = complain(path, -errno);
		free(path);
	} else {
		*name = made(out, path);
	}
	free(base);
	return fd;
}

void output_prune(struct output *out, uint64_t max)
{
	/* Without a limit, drop names that nobody needs any more, so that they do not add up. */
	while (out->nmade > MAX(max, (uint64_t)1)) {
		if (max && unlink(out->made[0]) && errno != ENOENT)
			pr_warn("cannot remove '%s': %s", out->made[0], strerror(errno));
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
	free(out->made);
	out->made = NULL;
	out->nmade = out->made_cap = 0;
}
