#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "xalloc.h"

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

	out->fd = -1;
	out->name = path ? path : OUTPUT_DEFAULT;
	if (!path && !fstat(STDOUT_FILENO, &st) && S_ISFIFO(st.st_mode))
		out->name = "-";
	if (!strcmp(out->name, "-")) {
		if (!isatty(STDOUT_FILENO))
			return 0;
		pr_err("standard output is a terminal; send the recording to a pipe or a file, or "
		       "use -o FILE");
		return -EINVAL;
	}
	if (!stat(out->name, &st)) {
		if (S_ISDIR(st.st_mode))
			return complain(out->name, -EISDIR);
		/* A device or a pipe is written as it is; a file may have to be renamed. */
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

int output_open(struct output *out)
{
	struct stat st;
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY;

	if (!strcmp(out->name, "-")) {
		out->fd = STDOUT_FILENO;
		return 0;
	}
	if (!stat(out->name, &st) && S_ISREG(st.st_mode) && st.st_size) {
		/* A link goes on leading to the newest recording, and the old one lies beside it. */
		char *real = realpath(out->name, NULL);
		char *old = xasprintf("%s.old", real ? real : out->name);
		int err = rename(real ? real : out->name, old) ? -errno : 0;

		if (err)
			pr_err("cannot rename '%s' to '%s': %s", out->name, old, strerror(-err));
		free(real);
		free(old);
		if (err)
			return err;
	}
	out->fd = open(out->name, flags, 0600);
	return out->fd < 0 ? complain(out->name, -errno) : 0;
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
