/*
 * The chain of places for debug info (debugsource.h): the container's own, this host's, the folders
 * the user names, debuginfod. A binary that has its debug info in itself is not looked further for.
 */
#include "debugsource.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debugfile.h"
#include "debuginfod.h"
#include "log.h"
#include "module.h"
#include "nsopen.h"
#include "strbuf.h"

#define DIRS_MAX 16
#define SPLIT_SIZE_MAX (4ull << 30)	/* of a .dwo or .dwp file */

static char *dirs[DIRS_MAX];	/* absolute; for the life of the program */
static size_t ndirs;

int debugsource_add_dir(const char *dir)
{
	int fd;

	if (ndirs == DIRS_MAX) {
		pr_err("--debug-dir is taken up to %d times", DIRS_MAX);
		return -E2BIG;
	}
	/* A file would be as good as no folder at all. */
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		dirs[ndirs] = realpath(dir, NULL);
	}
	if (!dirs[ndirs]) {
		pr_err("--debug-dir '%s': %s", dir, strerror(errno));
		return -EINVAL;
	}
	ndirs++;
	return 0;
}

static struct elf_file *binary_of(const struct module *m)
{
	return m->elf ? m->elf : m->captured;
}

static bool has_info(struct elf_file *ef)
{
	return ef && elf_file_has_section(ef, ".debug_info");
}

/* A debug file with symbols alone does until there is one with debug info. */
static bool wants_debug(const struct module *m)
{
	if (!m->debug)
		return true;
	/* Somebody may hold on to its bytes already. */
	if (m->cfi || m->symtab || m->inlines)
		return false;
	return !has_info(m->elf) && !has_info(m->debug);
}

/* Takes @fd, a debug file that was proven. */
static void take_debug(struct module *m, int fd)
{
	struct elf_file *ef;
	int err;

	ef = elf_file_open_fd(fd, &err);
	close(fd);
	if (!ef) {
		m->why_not[MODULE_NONE] = "debug file is not a readable ELF file";
		return;
	}
	if (m->debug && !has_info(ef)) {
		elf_file_close(ef);
		return;
	}
	elf_file_close(m->debug);
	m->debug = ef;
	m->why_not[MODULE_NONE] = NULL;
}

/* The file with debug info, when it wants what dwz(1) has moved out of it. */
static struct elf_file *wants_alt(const struct module *m)
{
	struct elf_file *ef = has_info(m->elf) ? m->elf : has_info(m->debug) ? m->debug : NULL;

	return ef && !m->alt && elf_file_has_section(ef, ".gnu_debugaltlink") ? ef : NULL;
}

static void look_in(struct module *m, int rootfd, const char *dir)
{
	struct elf_file *ef = binary_of(m);
	const char *why = NULL;
	int fd, err;

	if (wants_debug(m)) {
		if (dir)
			fd = debugfile_find_in(rootfd, dir, m->dso.path, ef, &why);
		else
			fd = debugfile_find(rootfd, m->dso.path, ef, &why);
		if (fd >= 0)
			take_debug(m, fd);
		else if (!m->debug && (why || !m->why_not[MODULE_NONE]))
			m->why_not[MODULE_NONE] = why ? why : "no separate debug file found";
	}
	ef = wants_alt(m);
	if (!ef)
		return;
	fd = debugfile_find_alt(rootfd, dir, ef == m->elf ? m->dso.path : NULL, ef);
	if (fd >= 0) {
		m->alt = elf_file_open_fd(fd, &err);
		close(fd);
	}
}

/* Split units are opened when they are asked for: then the process may be gone, but not its root. */
static void keep_root(struct module *m, int rootfd)
{
	struct elf_file *ef = has_info(m->elf) ? m->elf : m->debug;

	if (m->have_root || !ef || !elf_file_has_section(ef, ".debug_addr"))
		return;
	m->rootfd = fcntl(rootfd, F_DUPFD_CLOEXEC, 3);
	m->have_root = m->rootfd >= 0;
}

void debugsource_look(struct module *m, int rootfd)
{
	if (rootfd < 0 || !binary_of(m) || m->vdso)
		return;
	look_in(m, rootfd, NULL);
	keep_root(m, rootfd);
}

/* What a server sends is proven like any other file; @m is who wants it. */
static struct elf_file *fetch(const struct module *m, const uint8_t *id, size_t len)
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
	pr_warn("'%s': the debug file that debuginfod has for it is %s and not used", m->dso.path,
		ef ? "another build's" : "not a readable ELF file");
	elf_file_close(ef);
	return NULL;
}

static void look_online(struct module *m)
{
	struct elf_file *ef;
	uint8_t id[20];
	size_t len;

	if (!has_info(m->elf) && wants_debug(m)) {
		len = elf_file_build_id(binary_of(m), id);
		ef = len ? fetch(m, id, len) : NULL;
		if (ef) {
			elf_file_close(m->debug);
			m->debug = ef;
			m->why_not[MODULE_NONE] = NULL;
		}
	}
	ef = wants_alt(m);
	len = ef ? debugfile_alt_id(ef, id) : 0;
	if (len)
		m->alt = fetch(m, id, len);
}

void debugsource_look_further(struct module *m, int rootfd)
{
	if (!binary_of(m) || m->vdso)
		return;
	for (size_t i = 0; i < ndirs && rootfd >= 0; i++)
		look_in(m, rootfd, dirs[i]);
	if (debuginfod_is_on())
		look_online(m);
}

/* ---- split debug info ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Candidate @i of @where (at most 2 paths below a root, the last one by its name alone): below the
 * module's root, below the host's, then in the folders of --debug-dir.
 */
static int open_candidate(struct module *m, const char *const where[2], const char *name,
			  unsigned int i)
{
	struct strbuf path = STRBUF_INIT;
	int host = -1, fd = -ENOENT, root = m->have_root ? m->rootfd : -1;

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
	return fd < 0 ? -ENOENT : fd;
}

int debugsource_dwo(struct module *m, const char *comp_dir, const char *name, unsigned int i)
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
	if (m->dso.path[0] == '/') {
		strbuf_addf(&beside, "%.*s%s", (int)(base_name(m->dso.path) - m->dso.path),
			    m->dso.path, base_name(name));
		where[1] = beside.s;
	}
	fd = open_candidate(m, where, base_name(name), i);
	strbuf_fini(&stated);
	strbuf_fini(&beside);
	return fd;
}

struct elf_file *debugsource_dwp(struct module *m)
{
	struct strbuf path = STRBUF_INIT;
	const char *where[2] = { NULL, NULL };
	int fd, err;

	if (m->dwp_tried)
		return m->dwp;
	m->dwp_tried = true;
	strbuf_addf(&path, "%s.dwp", m->dso.path);
	if (path.s[0] == '/')
		where[0] = path.s;
	for (unsigned int i = 0; !m->dwp; i++) {
		fd = open_candidate(m, where, base_name(path.s), i);
		if (fd == -ERANGE)
			break;
		if (fd < 0)
			continue;
		m->dwp = elf_file_open_fd(fd, &err);
		close(fd);
	}
	strbuf_fini(&path);
	return m->dwp;
}
