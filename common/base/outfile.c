/*
 * Where results go. A regular file is replaced in one step at the end. Until then, and after a
 * failure, readers see the old file whole.
 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outplace.h"
#include "base/util.h"
#include "base/write_behind.h"
#include "base/xalloc.h"

struct outfile {
	FILE *f;
	FILE *text;	/* put in front of f, or NULL; borrowed from behind */
	struct write_behind *behind;	/* owned, or NULL */
	char *name;	/* as the user gave it, for messages */
	struct outplace at;
	char *tmp;	/* the file being written, beside its place; NULL when written in place */
	bool kept;	/* the keeper's, who knows it by @number */
	int number;
};

static const struct outfile_keeper *keeper;

void outfile_use_keeper(const struct outfile_keeper *k)
{
	keeper = k;
}

static int check_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return access(path, W_OK | X_OK) ? -errno : 0;
}

int outfile_folder(const char *path)
{
	int err = keeper ? keeper->folder(path) : outplace_mkdir(path);

	if (keeper || (err && err != -EEXIST))
		return err;
	err = check_folder(path);
	if (err)
		pr_err("cannot write to directory '%s': %s", path, strerror(-err));
	return err;
}

int outfile_descriptor(const char *path)
{
	static const char *const std[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < ARRAY_SIZE(std); i++)
		if (!strcmp(path, std[i]))
			return (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t len = strlen(folders[i]), digits;

		if (strncmp(path, folders[i], len))
			continue;
		digits = strspn(path + len, "0123456789");
		return digits && digits < 8 && !path[len + digits] ? atoi(path + len) : -1;
	}
	return -1;
}

bool outfile_is_terminal(const char *path)
{
	struct outplace at;
	bool is = false;
	int fd;

	if (!path || !strcmp(path, "-"))
		return isatty(STDOUT_FILENO);
	fd = outfile_descriptor(path);
	if (fd >= 0)
		return isatty(fd);
	fd = outplace_find(&at, path) || !at.exists || !S_ISCHR(at.st.st_mode) ? -1 : outplace_open(&at, O_WRONLY | O_NONBLOCK);
	if (fd >= 0) {
		is = isatty(fd);
		close(fd);
	}
	outplace_fini(&at);
	return is;
}

bool outfile_check_terminal(const char *path, const char *option, const char *what)
{
	if (!outfile_is_terminal(path))
		return true;
	pr_err("%s writes %s, which a terminal cannot show: write it to a file with -o FILE, or pipe it to a program", option, what);
	return false;
}

/*
 * Creates a file beside the place. The pid tells processes apart, the number avoids leftovers of
 * killed processes.
 */
static int open_beside(const struct outplace *at, char **tmp)
{
	int n, fd = -EEXIST;

	for (n = 0; n < 100 && fd == -EEXIST; n++) {
		free(*tmp);
		*tmp = xasprintf("%s.%d-%d.tmp", at->name, (int)getpid(), n);
		fd = outplace_create(at, *tmp, outplace_mode());
	}
	if (fd < 0) {
		free(*tmp);
		*tmp = NULL;
	}
	return fd;
}

/* Returns an owned fd and sets o->at and o->tmp where they apply, or returns a negative errno. */
static int open_target(struct outfile *o)
{
	const struct stat *st = &o->at.st;
	int fd = outfile_descriptor(o->name), err;

	/*
	 * The descriptor's owner may write before and after us: a duplicate shares the file
	 * position.
	 */
	if (fd >= 0) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	err = outplace_find(&o->at, o->name);
	if (err)
		return err;
	if (!o->at.exists)
		return open_beside(&o->at, &o->tmp);
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	/* Devices, pipes and files in /proc cannot be replaced. */
	if (!S_ISREG(st->st_mode) || o->at.proc)
		return outplace_open(&o->at, O_WRONLY);
	err = outplace_may_replace(&o->at, o->at.name);
	if (err)
		return err;
	/* Do not replace a write-protected file just because its directory allows it. */
	if (faccessat(o->at.dir, o->at.name, W_OK, AT_EACCESS) < 0)
		return -errno;
	fd = open_beside(&o->at, &o->tmp);
	/*
	 * Keep the mode of the replaced file. Without the right to do so, the default mode stays.
	 * What root writes into a file of somebody else is not for everybody who could read that.
	 */
	if (fd >= 0 && (geteuid() || st->st_uid == geteuid()) && fchmod(fd, st->st_mode & 0777) < 0)
		pr_verbose("cannot keep the mode of '%s': %s", o->name, strerror(errno));
	return fd;
}

static void release(struct outfile *o)
{
	outplace_fini(&o->at);
	free(o->name);
	free(o->tmp);
	free(o);
}

struct outfile *outfile_open(const char *path)
{
	struct outfile *o = xcalloc(1, sizeof(*o));
	int fd;

	o->at = (struct outplace)OUTPLACE_INIT;
	if (!path || !strcmp(path, "-")) {
		o->f = stdout;
		o->name = xstrdup("standard output");
		return o;
	}
	o->name = xstrdup(path);
	o->kept = keeper;
	fd = o->kept ? keeper->open(path, &o->number) : open_target(o);
	if (fd < 0 && o->kept) {
		release(o);
		return NULL;
	}
	if (fd >= 0) {
		o->f = fdopen(fd, "w");
		if (o->f)
			return o;
		fd = -errno;
	}
	pr_err("cannot write '%s': %s", path, outplace_error(&o->at, fd));
	release(o);
	return NULL;
}

FILE *outfile_stream(struct outfile *o)
{
	return o->f;
}

FILE *outfile_text(struct outfile *o)
{
	int fd = fileno(o->f);
	struct stat st;

	/* Output to a terminal is read as it comes. */
	if (!o->text && !isatty(fd) && !fstat(fd, &st)) {
		fflush(o->f);
		/*
		 * Copying takes the time, and hardly any character device copies what it receives.
		 */
		o->behind = write_behind_new(fd, !S_ISCHR(st.st_mode), &o->text);
	}
	return o->text ? o->text : o->f;
}

/* stdout stays open: stdio flushes it again at exit, and others may still print. */
static int finish_stream(struct outfile *o)
{
	/*
	 * The errno of an earlier failure is lost, but the flush below normally fails with it
	 * again.
	 */
	int err = ferror(o->f) ? -EIO : 0, behind = o->behind ? write_behind_end(o->behind) : 0;

	if (fflush(o->f))
		err = -errno;
	if (behind)
		err = behind;
	if (o->f != stdout && fclose(o->f) && !err)
		err = -errno;
	return err;
}

int outfile_close(struct outfile *o)
{
	int err = finish_stream(o);

	if (o->kept && !err) {
		err = keeper->finish(o->number, true);
		release(o);
		return err;
	}
	if (o->kept)
		keeper->finish(o->number, false);
	if (!err && o->tmp && renameat(o->at.dir, o->tmp, o->at.dir, o->at.name) < 0)
		err = -errno;
	if (err) {
		if (o->tmp)
			unlinkat(o->at.dir, o->tmp, 0);
		pr_err("cannot write '%s': %s", o->name, strerror(-err));
	}
	release(o);
	return err;
}

void outfile_abort(struct outfile *o)
{
	if (o->behind)
		write_behind_end(o->behind);
	if (o->f != stdout)
		fclose(o->f);
	if (o->kept)
		keeper->finish(o->number, false);
	if (o->tmp)
		unlinkat(o->at.dir, o->tmp, 0);
	release(o);
}
