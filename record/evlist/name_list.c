#include "evlist/name_list.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

#define NAMES_MAX 65536u

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t name_list(int dir, const char *path, bool (*wanted)(int folder, const struct dirent *e), char ***names)
{
	const struct dirent *e;
	size_t n = 0, cap = 0;
	char **v = NULL;
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	while (d && n < NAMES_MAX && (e = readdir(d))) {
		if (!wanted(dirfd(d), e))
			continue;
		XGROW(v, n, cap);
		v[n++] = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	if (n)
		qsort(v, n, sizeof(*v), compare);
	*names = v;
	return n;
}

void name_list_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}
