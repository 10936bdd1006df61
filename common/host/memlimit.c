/* Memory cgroups (memlimit.h). No malloc() here: this runs before the heap is set up (pages.h). */
#include "host/memlimit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define MOUNT "/sys/fs/cgroup"
#define TEXT_MAX 8192		/* /proc/self/cgroup: a dozen lines */

/* Reads the file @path. False if it is unreadable or empty. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[MAX(n, 0)] = '\0';
	return n > 0;
}

/* The limit in the file @folder@path/@name. "max" or an unreadable file means no limit. */
static uint64_t limit_in(const char *folder, const char *path, const char *name)
{
	char file[PATH_MAX], text[32], *end;
	uint64_t limit;

	if (snprintf(file, sizeof(file), "%s%s/%s", folder, path, name) >= (int)sizeof(file) ||
	    !read_text(file, text, sizeof(text)))
		return UINT64_MAX;
	limit = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : limit;
}

/* The lowest limit of cgroup @path and its ancestors. Cuts @path down to "". */
static uint64_t lowest(const char *folder, char *path, const char *name)
{
	uint64_t limit = UINT64_MAX, own;
	char *end;

	do {
		own = limit_in(folder, path, name);
		limit = MIN(limit, own);
		end = strrchr(path, '/');
		if (end)
			*end = '\0';
	} while (end);
	return limit;
}

/* Is "memory" in the comma-separated list @names? */
static bool has_memory(const char *names)
{
	size_t len = strlen("memory");

	for (const char *at = names; (at = strstr(at, "memory")); at += len)
		if ((at == names || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

uint64_t memlimit_bytes(void)
{
	char text[TEXT_MAX], *save = NULL;
	uint64_t limit = UINT64_MAX, found;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return limit;
	/* "4:memory:/a/b" in version 1, "0::/a/b" in version 2. */
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (!names[1])
			found = lowest(MOUNT, path, "memory.max");
		else if (has_memory(names + 1))
			found = lowest(MOUNT "/memory", path, "memory.limit_in_bytes");
		else
			continue;
		limit = MIN(limit, found);
	}
	return limit;
}
