/*
 * lookup [--no-inline] BINARY <ADDRESSES: the names at each address of a binary (svma, hexadecimal, one a
 * line) by the symbolizer's own code, as "addr2line -if" gives them without its lines of source: inlined
 * functions innermost first, then the function, then an empty line. For comparing names and time with
 * other programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "log.h"
#include "module.h"
#include "names.h"
#include "xalloc.h"

static void look_up(struct module *m, struct svma addr, bool inlines)
{
	const char *names[128];
	struct symbol sym;
	size_t n = inlines ? inlines_lookup(m, addr, names, 128) : 0;

	for (size_t i = 0; i < n; i++)
		puts(names[i]);
	puts(symtab_lookup(m, addr, &sym) ? "??" : sym.name);
	putchar('\n');
}

int main(int argc, char **argv)
{
	bool inlines = argc < 3 || strcmp(argv[1], "--no-inline") != 0;
	struct modules *mods = modules_new();
	struct ev_dso dso = { .id = 1 };
	struct module *m;
	char line[64];
	int fd, err;

	log_init("lookup");
	if (argc != 2 + !inlines) {
		pr_err("usage: lookup [--no-inline] BINARY <ADDRESSES");
		return 2;
	}
	dso.path = argv[argc - 1];
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
	while (fgets(line, sizeof(line), stdin))
		look_up(m, (struct svma){ strtoull(line, NULL, 16) }, inlines);
	modules_free(mods);
	return 0;
}
