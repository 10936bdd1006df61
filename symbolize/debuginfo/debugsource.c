/*
 * Looks for debug info (debugsource.h) in this order: in the container, on this host, in the user's
 * folders, on debuginfod servers. A binary that contains its own debug info needs no search.
 */
#include "debuginfo/debugsource.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "debuginfo/debuginfod.h"
#include "elf/debugfile.h"
#include "elf/elf_file.h"
#include "host/nsopen.h"
#include "host/openwhy.h"

#define DIRS_MAX 16
#define SPLIT_SIZE_MAX (4ull << 30)	/* of a .dwo or .dwp file */

static char *dirs[DIRS_MAX];	/* as given, then absolute; for the life of the program */
static size_t ndirs;

int debugsource_add_dir(const char *dir)
{
	if (ndirs == DIRS_MAX) {
		pr_err("too many --debug-dir options: at most %d are allowed", DIRS_MAX);
		return -E2BIG;
	}
	dirs[ndirs++] = xstrdup(dir);
	return 0;
}

int debugsource_find_dirs(void)
{
	for (size_t i = 0; i < ndirs; i++) {
		char *real;
		int fd = nsopen_user_dir(dirs[i], &real);

		if (fd < 0) {
			pr_err("cannot open --debug-dir '%s': %s", dirs[i], strerror(-fd));
			return fd;
		}
		nsopen_close(fd);
		free(dirs[i]);
		dirs[i] = real;
	}
	return 0;
}

static struct elf_file *file_of(const struct debug_binary *of)
{
	return of->elf ? of->elf : of->captured;
}

static bool has_info(struct elf_file *ef)
{
	return ef && elf_file_has_section(ef, ".debug_info");
}

/* A debug file with only symbols is kept until one with debug info is found. */
static bool wants_debug(const struct debug_files *d, const struct debug_binary *of)
{
	if (!d->debug)
		return true;
	return !of->held && !has_info(of->elf) && !has_info(d->debug);
}

/* Consumes @fd, a debug file that was verified. */
static void take_debug(struct debug_files *d, int fd)
{
	struct elf_file *ef;
	int err;

	ef = elf_file_open_fd(fd, &err);
	close(fd);
	if (!ef) {
		d->why = "debug file is not a readable ELF file";
		d->refused = true;
		return;
	}
	if (d->debug && !has_info(ef)) {
		elf_file_close(ef);
		return;
	}
	elf_file_close(d->debug);
	d->debug = ef;
	d->why = NULL;
}

/* Returns the file with debug info if it refers to a dwz(1) file that was not found yet. */
static struct elf_file *wants_alt(const struct debug_files *d, const struct debug_binary *of)
{
	struct elf_file *ef = has_info(of->elf) ? of->elf : has_info(d->debug) ? d->debug : NULL;

	return ef && !d->alt && elf_file_has_section(ef, ".gnu_debugaltlink") ? ef : NULL;
}

static void look_in(struct debug_files *d, const struct debug_binary *of, int rootfd, const char *dir)
{
	struct elf_file *ef = file_of(of);
	const char *why = NULL, *alt_why;
	int fd, err;

	if (wants_debug(d, of)) {
		if (dir)
			fd = debugfile_find_in(rootfd, dir, of->path, ef, &why);
		else
			fd = debugfile_find(rootfd, of->path, ef, &why);
		if (fd >= 0)
			take_debug(d, fd);
		else if (!d->debug && (why || !d->why)) {
			d->why = why ? why : "no separate debug file found";
			d->refused = why;
		}
	}
	ef = wants_alt(d, of);
	if (!ef)
		return;
	fd = debugfile_find_alt(rootfd, dir, ef == of->elf ? of->path : NULL, ef, &alt_why);
	d->alt_why = alt_why ? alt_why : d->alt_why;
	if (fd >= 0) {
		d->alt = elf_file_open_fd(fd, &err);
		close(fd);
	}
}

/* Split units are opened on demand. By then the process may be gone, so its root is kept open. */
static void keep_root(struct debug_files *d, const struct debug_binary *of, int rootfd)
{
	struct elf_file *ef = has_info(of->elf) ? of->elf : d->debug;

	if (d->have_root || !ef || !elf_file_has_section(ef, ".debug_addr"))
		return;
	d->rootfd = fcntl(rootfd, F_DUPFD_CLOEXEC, 3);
	d->have_root = d->rootfd >= 0;
}

void debugsource_look(struct debug_files *d, const struct debug_binary *of, int rootfd)
{
	if (rootfd < 0 || !file_of(of))
		return;
	look_in(d, of, rootfd, NULL);
	keep_root(d, of, rootfd);
}

/* A file from a server is verified like any other. @path: the binary that needs it. */
static struct elf_file *fetch(const char *path, const uint8_t *id, size_t len)
{
	struct elf_file *ef = NULL;
	uint8_t have[20];
	int fd, err;

	fd = debuginfod_fetch(id, len);
	if (fd < 0)
		return NULL;
	ef = elf_file_open_fd(fd, &err);
	close(fd);
	if (ef && elf_file_build_id(ef, have) == len && !memcmp(have, id, len))
		return ef;
	pr_warn("'%s': ignoring the debug file from debuginfod: it is %s", path,
		ef ? "from another build" : "not a readable ELF file");
	elf_file_close(ef);
	return NULL;
}

static void look_online(struct debug_files *d, const struct debug_binary *of)
{
	struct elf_file *ef;
	uint8_t id[20];
	size_t len;

	if (!has_info(of->elf) && wants_debug(d, of)) {
		len = elf_file_build_id(file_of(of), id);
		ef = len ? fetch(of->path, id, len) : NULL;
		if (ef) {
			elf_file_close(d->debug);
			d->debug = ef;
			d->why = NULL;
		}
	}
	ef = wants_alt(d, of);
	len = ef ? debugfile_alt_id(ef, id) : 0;
	if (len)
		d->alt = fetch(of->path, id, len);
}

void debugsource_look_further(struct debug_files *d, const struct debug_binary *of, int rootfd)
{
	if (!file_of(of))
		return;
	for (size_t i = 0; i < ndirs && rootfd >= 0; i++)
		look_in(d, of, rootfd, dirs[i]);
	if (debuginfod_is_on())
		look_online(d, of);
}

const char *debugsource_refused(const struct debug_files *d)
{
	if (d->refused && !d->debug)
		return d->why;
	return d->alt_why && !d->alt ? d->alt_why : d->split_why;
}

/* ---- split debug info ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Opens candidate @i: the paths of @where (at most 2) below the binary's root, then below the
 * host's, then @name alone in the folders of --debug-dir.
 */
static int open_candidate(const struct debug_files *d, const char *const where[2], const char *name,
			  unsigned int i)
{
	struct strbuf path = STRBUF_INIT;
	int host = -1, fd = -ENOENT, root = d->have_root ? d->rootfd : -1;

	if (i >= 4 + ndirs)
		return -ERANGE;
	if (i >= 2) {
		host = nsopen_host_root();
		root = host;
	}
	if (i < 4 && where[i % 2])
		strbuf_adds(&path, where[i % 2]);
	else if (i >= 4)
		strbuf_addf(&path, "%s/%s", dirs[i - 4], name);
	if (root >= 0 && path.len)
		fd = nsopen_file(root, path.s, SPLIT_SIZE_MAX, NULL);
	if (host >= 0)
		close(host);
	strbuf_fini(&path);
	return fd;
}

int debugsource_dwo(const struct debug_files *d, const char *path, const char *comp_dir, const char *name, unsigned int i)
{
	struct strbuf stated = STRBUF_INIT, beside = STRBUF_INIT;
	const char *where[2] = { NULL, NULL };
	int fd;

	if (name[0] == '/')
		strbuf_adds(&stated, name);
	else if (comp_dir && comp_dir[0] == '/')
		strbuf_addf(&stated, "%s/%s", comp_dir, name);
	if (stated.len)
		where[0] = stated.s;
	if (path[0] == '/') {
		strbuf_addf(&beside, "%.*s%s", (int)(base_name(path) - path),
			    path, base_name(name));
		where[1] = beside.s;
	}
	fd = open_candidate(d, where, base_name(name), i);
	strbuf_fini(&stated);
	strbuf_fini(&beside);
	return fd;
}

struct elf_file *debugsource_dwp(struct debug_files *d, const char *path)
{
	struct strbuf package = STRBUF_INIT;
	const char *where[2] = { NULL, NULL }, *why = NULL;
	int fd, err;

	if (d->dwp_tried)
		return d->dwp;
	d->dwp_tried = true;
	strbuf_addf(&package, "%s.dwp", path);
	if (package.s[0] == '/')
		where[0] = package.s;
	for (unsigned int i = 0; !d->dwp; i++) {
		fd = open_candidate(d, where, base_name(package.s), i);
		if (fd == -ERANGE)
			break;
		if (fd >= 0) {
			d->dwp = elf_file_open_fd(fd, &err);
			close(fd);
			why = d->dwp ? why : "debug file is not a readable ELF file";
		} else if (openwhy(OPENWHY_DEBUG, fd)) {
			why = openwhy(OPENWHY_DEBUG, fd);
		}
	}
	d->split_why = d->dwp ? NULL : why;
	strbuf_fini(&package);
	return d->dwp;
}

void debugsource_fini(struct debug_files *d)
{
	elf_file_close(d->dwp);
	elf_file_close(d->alt);
	elf_file_close(d->debug);
	if (d->have_root)
		close(d->rootfd);
}
