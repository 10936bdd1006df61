/*
 * Directories made by perf record --threads. "data" is a file with the header for all; each thread
 * of perf has written another file. Source: tools/perf/util/data.c, perf_data__open_dir().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "host/parser.h"
#include "import/mapped.h"
#include "import/perfdata.h"

#define PARTS_MAX 4096

/* -ENODATA: it is empty. */
static int map_part(int fd, struct perfdata_part *part)
{
	const uint8_t *map;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!st.st_size)
		return -ENODATA;
	err = mapped_open(fd, (size_t)st.st_size, &map);
	if (err)
		return err;
	*part = (struct perfdata_part){ map, (size_t)st.st_size };
	return 0;
}

int perfdata_part_open(int dirfd, int number)
{
	char name[32] = "data";
	int fd, err;

	if (parser_is()) {
		err = parser_ask(PERFDATA_PART, NULL, &number, &fd);
		return err ? err : fd;
	}
	if (number >= 0)
		snprintf(name, sizeof(name), "data.%d", number);
	/* perf makes no links here: a folder from somebody else could hold one to anything. */
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int perfdata_open_parts(struct perfdata *pd, int dirfd)
{
	unsigned int missing = 0;
	size_t cap = 0;

	for (int i = 0; i < PARTS_MAX; i++) {
		struct perfdata_part part;
		int fd = perfdata_part_open(dirfd, i), err;

		if (fd == -ENOENT) {
			missing++;
			continue;
		}
		if (fd < 0)
			return fd;
		/* Those before an existing part are missing. */
		pd->lacking += missing;
		missing = 0;
		err = map_part(fd, &part);
		close(fd);
		if (err == -ENODATA)
			continue;
		if (err)
			return err;
		XGROW(pd->parts, pd->nparts, cap);
		pd->parts[pd->nparts++] = part;
		pd->bytes += part.size;
	}
	return 0;
}

void perfdata_close_parts(struct perfdata *pd)
{
	for (size_t i = 0; i < pd->nparts; i++)
		mapped_close(pd->parts[i].map, pd->parts[i].size);
	free(pd->parts);
}
