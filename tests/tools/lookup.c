/*
 * lookup [--no-inline] [--lines] BINARY <ADDRESSES: prints the names at each address of a binary
 * (svma, hexadecimal, one per line), found by the symbolizer's own code. The output is that of
 * "addr2line -if" without source lines: inlined functions innermost first, then the function, then
 * an empty line. --lines: after each name a tab and FILE:LINE. A separate debug file is looked for
 * as for a binary of this host. For comparing names and time with other programs.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "debuginfo/inlines.h"
#include "elf/debugfile.h"
#include "elf/elf_file.h"
#include "host/nsopen.h"
#include "modules/module.h"
#include "modules/module_symbols.h"

#define FRAMES_MAX 128

static void print_frame(const char *name, const struct source_line *at)
{
	fputs(name, stdout);
	if (at)
		printf("\t%s:%" PRIu32, at->file ? at->file : "??", at->line);
	putchar('\n');
}

static void look_up(struct module *m, struct svma addr, bool inlines, bool lines)
{
	struct source_line at[FRAMES_MAX + 1] = { 0 };
	const char *names[FRAMES_MAX];
	struct symbol sym;
	size_t n = inlines ? inlines_lookup(module_inlines(m), addr, names, FRAMES_MAX) : 0;

	if (lines)
		inlines_lines(module_inlines(m), addr, at, n + 1);
	for (size_t i = 0; i < n; i++)
		print_frame(names[i], lines ? &at[i] : NULL);
	print_frame(module_symbol(m, addr, &sym) ? "??" : sym.name, lines ? &at[n] : NULL);
	putchar('\n');
}

static struct elf_file *open_debug(struct module *m)
{
	int rootfd = nsopen_host_root(), fd, err;
	struct elf_file *ef = NULL;

	fd = rootfd < 0 ? rootfd : debugfile_find(rootfd, m->dso.path, m->elf, NULL);
	if (fd >= 0) {
		ef = elf_file_open_fd(fd, &err);
		close(fd);
	}
	if (rootfd >= 0)
		close(rootfd);
	return ef;
}

int main(int argc, char **argv)
{
	struct modules *mods = modules_new();
	bool inlines = true, lines = false;
	struct ev_dso dso = { .id = 1 };
	struct module *m;
	char line[64];
	int fd, err, i;

	log_init("lookup");
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--no-inline"))
			inlines = false;
		else if (!strcmp(argv[i], "--lines"))
			lines = true;
		else
			break;
	}
	if (i + 1 != argc || argv[i][0] == '-') {
		pr_err("usage: lookup [--no-inline] [--lines] BINARY <ADDRESSES");
		return 2;
	}
	dso.path = argv[i];
	modules_add(mods, &dso);
	m = modules_get(mods, 1);
	fd = open(dso.path, O_RDONLY | O_CLOEXEC);
	m->elf = fd < 0 ? NULL : elf_file_open_fd(fd, &err);
	if (!m->elf) {
		pr_err("cannot read '%s'", dso.path);
		return 1;
	}
	close(fd);
	m->source = MODULE_HOST;
	m->files.debug = open_debug(m);
	while (fgets(line, sizeof(line), stdin))
		look_up(m, (struct svma){ strtoull(line, NULL, 16) }, inlines, lines);
	modules_free(mods);
	return 0;
}
