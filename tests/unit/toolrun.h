/*
 * For tests that build their own binaries: a scratch folder, commands in it, and ELF files from it.
 */
#ifndef NSPROF_TEST_TOOLRUN_H
#define NSPROF_TEST_TOOLRUN_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"

static char tool_dir[64];

static inline int tool_setup(void **state)
{
	(void)state;
	strcpy(tool_dir, "/tmp/nsprof-unit.XXXXXX");
	return mkdtemp(tool_dir) ? 0 : -1;
}

/* Runs a shell command in the scratch folder; its exit status. Its stderr goes to the test's. */
__attribute__((format(printf, 1, 2))) static inline int tool_run(const char *fmt, ...)
{
	char cmd[4096];
	int n = snprintf(cmd, sizeof(cmd), "cd '%s' && ", tool_dir);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	return system(cmd);
}

static inline int tool_teardown(void **state)
{
	(void)state;
	return tool_run("rm -rf '%s'", tool_dir);
}

/*
 * True when all programs in the list (blanks between) are there; else says why the test is skipped.
 */
static inline bool tool_have(const char *programs)
{
	if (tool_run("for p in %s; do command -v $p >/dev/null || exit 1; done", programs) == 0)
		return true;
	printf("# skipped: not all of these are installed: %s\n", programs);
	return false;
}

static inline FILE *tool_open_text(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", tool_dir, name);
	return fopen(path, "re");
}

static inline void tool_write(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tool_dir, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

/* @name in the scratch folder, or an absolute path. NULL when it cannot be read as ELF. */
static inline struct elf_file *tool_open_elf(const char *name)
{
	struct elf_file *ef;
	char path[256];
	int fd, err;

	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : tool_dir,
		 name[0] == '/' ? "" : "/", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ef = elf_file_open_fd(fd, &err);
	close(fd);
	return ef;
}

/* splitmix64, so that a failing run can be repeated. */
static inline uint64_t tool_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

#endif
