/*
 * .gnu_debugaltlink: a path, NUL, and the build-id of the file meant (dwz(1), "-m"). Fedora's and
 * some of Debian's debug packages need it for the names of inlined functions. libdw would find the
 * file itself, but by opening whatever path a container's file states; so the build-id alone is
 * used, and the file has to have it.
 */
#include "dwz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "nsopen.h"
#include "xalloc.h"

/* Of the file. The largest seen, for LibreOffice, has 150 MiB. */
#define DWZ_MAX	(2ull << 30)

static struct elf_file *open_by_id(const uint8_t *id, size_t len)
{
	char hex[2 * 20 + 1];
	struct elf_file *ef = NULL;
	uint8_t have[20];
	char *path;
	int rootfd, fd, err;

	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
	}
	hex[2 * len] = '\0';
	rootfd = nsopen_host_root();
	if (rootfd < 0)
		return NULL;
	path = xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	fd = nsopen_file(rootfd, path, DWZ_MAX, NULL);
	if (fd >= 0) {
		ef = elf_file_open_fd(fd, &err);
		close(fd);
	}
	close(rootfd);
	free(path);
	if (ef && (elf_file_build_id(ef, have) != len || memcmp(have, id, len))) {
		elf_file_close(ef);
		ef = NULL;
	}
	return ef;
}

struct elf_file *dwz_open(struct elf_file *ef)
{
	const uint8_t *data;
	size_t size, path_len;

	if (elf_file_section(ef, ".gnu_debugaltlink", &data, &size, NULL))
		return NULL;
	path_len = strnlen((const char *)data, size);
	/* A build-id has 8, 16 or 20 bytes; less than 2 give no path. */
	if (path_len == size || size - path_len - 1 < 2 || size - path_len - 1 > 20)
		return NULL;
	return open_by_id(data + path_len + 1, size - path_len - 1);
}
