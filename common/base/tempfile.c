#include "base/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"

static int (*other)(void);

void tempfile_use(int (*open)(void))
{
	other = open;
}

int tempfile_open(void)
{
	const char *dir = getenv("TMPDIR");
	int fd, err;
	char *path;

	if (other)
		return other();
	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		/* Not every file system has O_TMPFILE. */
		path = xasprintf("%s/nsprof-XXXXXX", dir);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
		free(path);
	}
	if (fd >= 0)
		return fd;
	err = errno;
	pr_err("cannot create a temporary file in '%s': %s. Set TMPDIR to a folder with free space.", dir, strerror(err));
	return -err;
}

int tempfile_write(int fd, const void *buf, size_t n)
{
	const char *from = buf;

	while (n) {
		ssize_t w = write(fd, from, n);
		const int err = errno;

		if (w < 0 && err == EINTR)
			continue;
		if (w < 0) {
			pr_err("cannot write to a temporary file: %s. Set TMPDIR to a folder with free space.", strerror(err));
			return -err;
		}
		from += w;
		n -= (size_t)w;
	}
	return 0;
}
