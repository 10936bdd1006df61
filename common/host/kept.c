#include "host/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 8

static struct {
	const char *path;
	int fd;			/* or negative errno */
} kept[KEPT_MAX];

static size_t nkept;

static int open_path(const char *path, bool folder)
{
	int fd = open(path, O_CLOEXEC | O_NOCTTY | (folder ? O_PATH | O_DIRECTORY : O_RDONLY));

	return fd < 0 ? -errno : fd;
}

void kept_hold(const char *path, int fd)
{
	if (nkept == KEPT_MAX) {
		close(fd);
		return;
	}
	kept[nkept].path = path;
	kept[nkept].fd = fd;
	nkept++;
}

void kept_add(const char *path)
{
	kept_hold(path, open_path(path, false));
}

int kept_open(const char *path, bool folder)
{
	for (size_t i = 0; i < nkept; i++) {
		int fd;

		if (strcmp(kept[i].path, path))
			continue;
		if (kept[i].fd < 0)
			return kept[i].fd;
		if (!folder)
			lseek(kept[i].fd, 0, SEEK_SET);
		fd = fcntl(kept[i].fd, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	return open_path(path, folder);
}
