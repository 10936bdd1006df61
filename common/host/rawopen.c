#include "host/rawopen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"

/* A rename elsewhere can make RESOLVE_IN_ROOT fail with EAGAIN; openat2(2) says to retry. */
#define AGAIN_MAX 32

static const char *proc_dir = "/proc";

void rawopen_set_proc(const char *dir)
{
	proc_dir = dir;
}

const char *rawopen_proc(void)
{
	return proc_dir;
}

int rawopen_below(int rootfd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int tries;

	for (tries = 0; tries < AGAIN_MAX; tries++) {
		long fd = syscall(SYS_openat2, rootfd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if ((errno != EAGAIN || resolve) && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

int rawopen_at(int dirfd, const char *name, int flags)
{
	int fd = openat(dirfd, name, flags | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

bool rawopen_fdinfo(int fd, char *text, size_t size)
{
	char name[32];
	ssize_t n;
	int info;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	info = open(name, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	n = read(info, text, size - 1);
	close(info);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

char *rawopen_slurp(int fd, size_t max, size_t *len, int *err)
{
	size_t cap = MIN(max, (size_t)4096), n = 0;
	char *buf = xmalloc(cap + 1);
	ssize_t got;

	/*
	 * Files of /proc have size 0: read until the end. One byte more than @max shows that the
	 * file is larger.
	 */
	for (;;) {
		got = read(fd, buf + n, cap + 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			*err = -errno;
			goto fail;
		}
		n += (size_t)got;
		if (!got)
			break;
		if (n > max) {
			*err = -EFBIG;
			goto fail;
		}
		if (n > cap) {
			cap = MIN(max, cap * 2);
			buf = xrealloc(buf, cap + 1);
		}
	}
	buf[n] = '\0';
	if (len)
		*len = n;
	return buf;
fail:
	free(buf);
	return NULL;
}
