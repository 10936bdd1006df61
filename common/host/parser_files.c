#include "host/parser_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "host/nsopen.h"
#include "host/opener.h"

static bool with_sources;

void parser_files_begin(bool sources)
{
	with_sources = sources;
}

/* A name that compilers know, or a header without one, like <vector>. */
static bool is_source(const char *path)
{
	static const char *const ends[] = {
		".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".h", ".hh", ".hpp", ".hxx", ".h++", ".inc", ".inl", ".ipp", ".tcc",
		".tpp", ".def", ".S", ".s", ".asm", ".y", ".l", ".re", ".rs", ".go", ".d", ".zig", ".nim", ".m", ".mm", ".swift",
		".java", ".kt", ".scala", ".f", ".f90", ".f95", ".F", ".F90", ".adb", ".ads", ".pas", ".ml", ".hs", ".cu", ".cuh",
		".py", ".pyx", ".rb", ".js", ".ts", ".php", ".v", ".vala", ".cr", ".cob",
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(ends); i++)
		if (!strcmp(dot, ends[i]))
			return true;
	return strstr(path, "/include/") != NULL;
}

/* Something that a parser reads: by its first bytes, or by name. */
static bool is_for_parsers(int fd, const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;
	char magic[4];

	if (nsopen_is_remote(fd) || (with_sources && path && is_source(path)))
		return true;
	if (pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	    (!memcmp(magic, ELFMAG, sizeof(magic)) || !memcmp(magic, "DTiJ", sizeof(magic)) || !memcmp(magic, "JiTD", sizeof(magic))))
		return true;
	return path && !fnmatch("perf-*.map", name ? name + 1 : path, 0);
}

static int run_file(const struct fileop *op, struct fileop_result *r)
{
	int err = opener_run(op, r);

	if (err || is_for_parsers(r->fd, op->kind == FILEOP_FILE || op->kind == FILEOP_HELD ? op->path : NULL))
		return err;
	/* It may know that there is such a file, and that it is nothing to parse. */
	nsopen_close(r->fd);
	r->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return r->fd < 0 ? -errno : 0;
}

static int run_proc(const struct fileop *op, struct fileop_result *r)
{
	const char *name = op->path ? op->path : "";
	const uint32_t pid = (uint32_t)op->from;

	if (!*name)
		r->fd = nsopen_process(pid);
	else if (!strcmp(name, "root"))
		r->fd = nsopen_root(pid);
	else if (!strcmp(name, "stat") || !strcmp(name, "status"))
		r->fd = nsopen_procfile(pid, name);
	else
		return -EPERM;
	return MIN(r->fd, 0);
}

int parser_files_run(const struct fileop *op, struct fileop_result *r)
{
	*r = (struct fileop_result){ .fd = -1 };
	switch (op->kind) {
	case FILEOP_FILE:
	case FILEOP_FIRST:
	case FILEOP_MAPPING:
	case FILEOP_MAPPING_AT:
	case FILEOP_HELD:
		return run_file(op, r);
	case FILEOP_DIR:
	case FILEOP_STAT:
	case FILEOP_COPY:
		return opener_run(op, r);
	case FILEOP_PROC:
		return run_proc(op, r);
	case FILEOP_HOST_ROOT:
		r->fd = nsopen_host_root();
		return MIN(r->fd, 0);
	default:
		return -EPERM;
	}
}
