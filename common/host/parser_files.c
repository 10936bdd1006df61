#include "host/parser_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/procfs.h"
#include "host/rawopen.h"

/* STATX_ATTR_MOUNT_ROOT, since Linux 5.8. */
#define MOUNT_ROOT 0x2000u
#define MOUNTINFO_MAX (64u << 20)

static bool with_sources;

void parser_files_begin(bool sources)
{
	with_sources = sources;
}

/* A name that compilers know. */
static bool ends_like_source(const char *path)
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
	return false;
}

struct search {
	uint64_t id;
	bool found;
};

static void look_at(void *ctx, const struct proc_mount *m)
{
	struct search *s = ctx;

	s->found |= m->id == s->id;
}

/*
 * Is @fd on a mount of ours? Tenants have mounts of their own, where any folder of the host may be
 * called "include".
 */
static bool on_own_mount(int fd)
{
	int table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), err;
	char *text = table < 0 ? NULL : rawopen_slurp(table, MOUNTINFO_MAX, NULL, &err), info[512];
	const char *id = rawopen_fdinfo(fd, info, sizeof(info)) ? strstr(info, "\nmnt_id:") : NULL;
	struct search s = { .id = id ? strtoull(id + 8, NULL, 10) : UINT64_MAX };

	if (text)
		procfs_mountinfo(text, look_at, &s);
	free(text);
	if (table >= 0)
		close(table);
	return s.found;
}

/* A header may lack an extension, like <vector>. */
static bool is_source(int fd, const char *path)
{
	return ends_like_source(path) || (strstr(path, "/include/") && on_own_mount(fd));
}

/*
 * A mounted file has the name of its mount point, and a tenant may mount any file of the host. The
 * check does not ask the file system.
 */
static bool is_mounted(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) || !(st.stx_attributes_mask & MOUNT_ROOT) ||
	       (st.stx_attributes & MOUNT_ROOT);
}

/* Bytes, enough to recognize binaries and jitdumps. */
#define HEAD_SIZE 18

/* A core dump begins like a binary and holds the memory of a process. So does /proc/kcore. */
static bool is_core(const unsigned char *head)
{
	const int low = head[EI_DATA] == ELFDATA2MSB;

	return head[EI_NIDENT + low] == ET_CORE && !head[EI_NIDENT + !low];
}

static bool begins_well(const unsigned char *head, size_t len)
{
	if (len == HEAD_SIZE && !memcmp(head, ELFMAG, SELFMAG))
		return !is_core(head);
	return len >= SELFMAG && (!memcmp(head, "DTiJ", SELFMAG) || !memcmp(head, "JiTD", SELFMAG));
}

/* Reads the beginning of O_PATH @fd as far as HEAD_SIZE. 0 with *@len, or negative errno. */
static int read_head(int fd, unsigned char *head, size_t *len)
{
	const struct fileop op = { .kind = FILEOP_COPY, .fd = { fd, -1 }, .max = HEAD_SIZE };
	struct fileop_result r;
	int err = opener_run(&op, &r);
	ssize_t n;

	if (err)
		return err;
	n = pread(r.fd, head, MIN(r.found, (uint64_t)HEAD_SIZE), 0);
	close(r.fd);
	*len = n > 0 ? (size_t)n : 0;
	return 0;
}

/*
 * Is @fd called like something that a parser reads? The name is that of the file itself: the one
 * that was asked for may be a link, or lead elsewhere by "..".
 */
static bool is_called_well(int fd)
{
	char self[64], path[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	return slash && ((with_sources && is_source(fd, path)) || !fnmatch("perf-*.map", slash + 1, 0)) && !is_mounted(fd);
}

/* Something that a parser reads: by its first bytes, or by name. 1, 0 or negative errno. */
static int is_for_parsers(int fd, bool by_name)
{
	unsigned char head[HEAD_SIZE];
	const bool remote = nsopen_is_remote(fd);
	uint64_t type;
	size_t len;
	ssize_t n;
	int err;

	/* In /proc, files change from one reading to the next. */
	err = remote ? nsopen_fs_type(fd, &type) : 0;
	if (err || (remote && type == PROC_SUPER_MAGIC))
		return err;
	if (by_name && is_called_well(fd))
		return 1;
	if (remote) {
		err = read_head(fd, head, &len);
		return err ? err : begins_well(head, len);
	}
	n = pread(fd, head, sizeof(head), 0);
	return begins_well(head, n > 0 ? (size_t)n : 0);
}

static int run_file(const struct fileop *op, struct fileop_result *r)
{
	int err = opener_run(op, r);

	if (err)
		return err;
	err = is_for_parsers(r->fd, op->kind == FILEOP_FILE || op->kind == FILEOP_HELD);
	if (err > 0)
		return 0;
	nsopen_close(r->fd);
	/* It may learn that such a file exists, and that it cannot be parsed. */
	r->fd = err ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	return err ? err : r->fd < 0 ? -errno : 0;
}

/*
 * Below a folder of a tenant, "maps" and "fd/0" may be links to devices, which an opener would open:
 * these names are not looked up below a root.
 */
static int run_of_process(const struct fileop *op, struct fileop_result *r)
{
	uint64_t type;
	int err = nsopen_fs_type(op->fd[0], &type);

	if (err)
		return err;
	return type == PROC_SUPER_MAGIC ? run_file(op, r) : -EPERM;
}

/*
 * Only what was checked when it was opened. Standard output may be a file that the parser can write
 * and not read.
 */
static int run_copy(const struct fileop *op, struct fileop_result *r)
{
	return nsopen_is_remote(op->fd[0]) ? opener_run(op, r) : -EPERM;
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
		return run_file(op, r);
	case FILEOP_MAPPING:
	case FILEOP_MAPPING_AT:
	case FILEOP_HELD:
		return run_of_process(op, r);
	case FILEOP_DIR:
	case FILEOP_STAT:
		return opener_run(op, r);
	case FILEOP_COPY:
		return run_copy(op, r);
	case FILEOP_PROC:
		return run_proc(op, r);
	case FILEOP_HOST_ROOT:
		r->fd = nsopen_host_root();
		return MIN(r->fd, 0);
	default:
		return -EPERM;
	}
}
