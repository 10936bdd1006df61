/*
 * For tests that build their own binaries: a scratch folder, commands run in it, and files from it.
 * File names are relative to the scratch folder, or absolute. A file that cannot be opened ends the
 * test program unless the function says otherwise.
 */
#ifndef NSPROF_TEST_TOOLRUN_H
#define NSPROF_TEST_TOOLRUN_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "elf/elf_file.h"

static char tool_dir[64];

static inline int tool_setup(void **state)
{
	(void)state;
	strcpy(tool_dir, "/tmp/nsprof-unit.XXXXXX");
	return mkdtemp(tool_dir) ? 0 : -1;
}

/* Valid until the next call. */
static inline const char *tool_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : tool_dir,
		 name[0] == '/' ? "" : "/", name);
	return path;
}

/*
 * Runs a shell command in the scratch folder and returns its exit status. Its stderr is the test's.
 */
__attribute__((format(printf, 1, 2))) static inline int tool_run(const char *fmt, ...)
{
	char cmd[4096];
	int n = snprintf(cmd, sizeof(cmd), "export LC_ALL=C; cd '%s' || exit; ", tool_dir);
	va_list ap;

	va_start(ap, fmt);
	n += vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(cmd))
		abort();
	return system(cmd);
}

static inline int tool_teardown(void **state)
{
	(void)state;
	return tool_run("rm -rf '%s'", tool_dir);
}

/*
 * True if all programs in the list (separated by blanks) are there; otherwise prints why the test
 * is skipped.
 */
static inline bool tool_have(const char *programs)
{
	if (tool_run("for p in %s; do command -v $p >/dev/null || exit 1; done", programs) == 0)
		return true;
	printf("# skipped: not all of these are installed: %s\n", programs);
	return false;
}

/* NULL if it cannot be read. */
static inline FILE *tool_open_text(const char *name)
{
	return fopen(tool_path(name), "re");
}

static inline int tool_open(const char *name)
{
	int fd = open(tool_path(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		abort();
	return fd;
}

/* NULL if it cannot be read as ELF. */
static inline struct elf_file *tool_open_elf(const char *name)
{
	int fd = open(tool_path(name), O_RDONLY | O_CLOEXEC), err;
	struct elf_file *ef;

	if (fd < 0)
		return NULL;
	ef = elf_file_open_fd(fd, &err);
	close(fd);
	return ef;
}

static inline void tool_write_bytes(const char *name, const void *data, size_t size)
{
	FILE *f = fopen(tool_path(name), "we");

	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		abort();
}

static inline void tool_write(const char *name, const char *text)
{
	tool_write_bytes(name, text, strlen(text));
}

/* Builds a C program, x.c, that calls functions of the C library in several ways, with @command. */
static inline bool tool_build(const char *command)
{
	static const char source[] =
		"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
		"static int cmp(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n"
		"__attribute__((weak)) int weakling(int n) { return n; }\n"
		"int main(int c, char **v) { int n = c * 40 + 3; int a[n]; for (int i = 0; i < n; i++) a[i] = rand();\n"
		"void *(*volatile f)(size_t) = malloc; free(f(10)); \n"
		"qsort(a, n, sizeof(*a), cmp); if (c > 1) { char b[c * 10]; snprintf(b, sizeof b, \"%s\", v[1]); puts(b); }\n"
		"return weakling(printf(\"%d %f\\n\", a[0], (double)a[1]) + (int)strlen(v[0])); }\n";

	tool_write("x.c", source);
	return tool_run("%s", command) == 0;
}

/* Reads all of it into @out, which is reset. */
static inline void tool_read(const char *name, struct strbuf *out)
{
	FILE *f = tool_open_text(name);
	char buf[65536];
	size_t got;

	if (!f)
		abort();
	strbuf_reset(out);
	while ((got = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(out, buf, got);
	fclose(f);
}

#endif
