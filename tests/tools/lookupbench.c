/*
 * lookupbench [--no-inline] [--lines] [--cache] [--threads N] BINARY <ADDRESSES: prints the names
 * at each address of a binary (svma, hexadecimal, one per line), found by the symbolizer's own
 * code. The output is that of "addr2line -if" without source lines: inlined functions innermost
 * first, then the function, then an empty line. --lines: after each name a tab and FILE:LINE.
 * --cache: with the user's cache. For comparing names and time with other programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "elf/elf_file.h"
#include "host/pages.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "naming/name_prefetch.h"
#include "support/cache.h"
#include "support/location.h"

#define INLINES_MAX 128

struct tool {
	struct modules *mods;
	struct module *m;
	struct locations locs;
	struct svma *at;	/* as given, in the same order */
	size_t n, cap;
	struct prefetch_opts opts;
	struct cache *cache;
};

static int open_binary(struct tool *t, const char *path)
{
	struct ev_dso dso = { .id = 1, .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	t->mods = modules_new();
	modules_use_cache(t->mods, t->cache);
	modules_add(t->mods, &dso);
	t->m = modules_get(t->mods, 1);
	t->m->elf = fd < 0 ? NULL : elf_file_open_fd(fd, &err);
	if (!t->m->elf) {
		pr_err("cannot read '%s'", path);
		return -ENOENT;
	}
	close(fd);
	t->m->source = MODULE_HOST;
	return 0;
}

/* The file offset of @at; false if it is in no segment. */
static bool file_offset(const struct elf_file *ef, struct svma at, uint64_t *off)
{
	const struct elf_load *loads;
	size_t n = elf_file_loads(ef, &loads);

	for (size_t i = 0; i < n; i++) {
		if (at.v - loads[i].vaddr < loads[i].filesz) {
			*off = at.v - loads[i].vaddr + loads[i].offset;
			return true;
		}
	}
	return false;
}

static void read_addresses(struct tool *t)
{
	char line[64];

	locations_init(&t->locs);
	while (fgets(line, sizeof(line), stdin)) {
		struct location loc = { .kind = LOC_FILE, .owner = 1, .mod = t->m };
		struct svma at = { strtoull(line, NULL, 16) };

		XGROW(t->at, t->n, t->cap);
		t->at[t->n++] = at;
		if (file_offset(t->m->elf, at, &loc.off)) {
			loc.addr = loc.off;
			locations_id(&t->locs, &loc);
		}
	}
}

static void print_frame(const struct tool *t, const char *name, const struct source_line *at)
{
	fputs(name, stdout);
	if (t->opts.lines)
		printf("\t%s:%" PRIu32, at->file ? at->file : "??", at->line);
	putchar('\n');
}

static void print(struct tool *t, struct svma at)
{
	struct source_line lines[INLINES_MAX + 1] = { 0 };
	const char *names[INLINES_MAX];
	struct symbol sym;
	size_t n = t->opts.inlines ? inlines_lookup(module_inlines(t->m), at, names, INLINES_MAX) : 0;

	if (t->opts.lines)
		inlines_lines(module_inlines(t->m), at, lines, n + 1);
	for (size_t i = 0; i < n; i++)
		print_frame(t, names[i], &lines[i]);
	print_frame(t, module_symbol(t->m, at, &sym) ? "??" : sym.name, &lines[n]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct tool t = { .opts = { .inlines = true } };
	struct prefetch_found found;
	int i = 1;

	pages_heap(pages_are_slow());
	log_init("lookupbench");
	for (; i + 1 < argc; i++) {
		if (!strcmp(argv[i], "--no-inline"))
			t.opts.inlines = false;
		else if (!strcmp(argv[i], "--lines"))
			t.opts.lines = true;
		else if (!strcmp(argv[i], "--cache"))
			t.cache = cache_open(0);
		else if (!strcmp(argv[i], "--threads"))
			t.opts.threads = (unsigned int)atoi(argv[++i]);
		else
			break;
	}
	if (i != argc - 1) {
		pr_err("usage: lookupbench [--no-inline] [--lines] [--cache] [--threads N] BINARY <ADDRESSES");
		return 2;
	}
	if (open_binary(&t, argv[i]))
		return 1;
	read_addresses(&t);
	prefetch_lookup(&t.locs, &t.opts, &found);
	for (size_t k = 0; k < t.n; k++)
		print(&t, t.at[k]);
	inlines_keep(module_inlines(t.m));
	prefetch_found_fini(&found);
	locations_fini(&t.locs);
	free(t.at);
	modules_free(t.mods);
	cache_close(t.cache);
	return 0;
}
