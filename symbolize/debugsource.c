/*
 * The chain of places for debug info (debugsource.h): the container's own, this host's, the folders
 * the user names, debuginfod. A binary that has its debug info in itself is not looked further for.
 */
#include "debugsource.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debugfile.h"
#include "debuginfod.h"
#include "log.h"
#include "module.h"

#define DIRS_MAX 16

static char *dirs[DIRS_MAX];	/* absolute; for the life of the program */
static size_t ndirs;

int debugsource_add_dir(const char *dir)
{
	if (ndirs == DIRS_MAX) {
		pr_err("--debug-dir is taken up to %d times", DIRS_MAX);
		return -E2BIG;
	}
	dirs[ndirs] = realpath(dir, NULL);
	if (!dirs[ndirs]) {
		pr_err("--debug-dir '%s': %s", dir, strerror(errno));
		return -errno;
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
	fd = debugfile_find_alt(rootfd, dir, ef);
	if (fd >= 0) {
		m->alt = elf_file_open_fd(fd, &err);
		close(fd);
	}
}

void debugsource_look(struct module *m, int rootfd)
{
	if (rootfd >= 0 && binary_of(m) && !m->vdso)
		look_in(m, rootfd, NULL);
}

/* What a server sends is proven like any other file. */
static struct elf_file *fetch(const uint8_t *id, size_t len)
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
		ef = len ? fetch(id, len) : NULL;
		if (ef) {
			elf_file_close(m->debug);
			m->debug = ef;
			m->why_not[MODULE_NONE] = NULL;
		}
	}
	ef = wants_alt(m);
	len = ef ? debugfile_alt_id(ef, id) : 0;
	if (len)
		m->alt = fetch(id, len);
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
