/* The symbols of a binary: one sorted table, from every file there is for it. */
#ifndef NSPROF_SYMTAB_H
#define NSPROF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "support/symbol.h"

struct elf_file;
struct symtab;

/* What symbols are read from, each NULL when there is none. Borrowed for the life of the table. */
struct symtab_files {
	struct elf_file *elf, *debug, *slice;
	struct elf_file *names;	/* in place of @slice: taken over, closed with the table */
	const char *path;	/* for messages */
};

/*
 * Reads the files' tables and .gnu_debugdata, in this order of preference for an address: @elf, @debug, .gnu_debugdata, @slice.
 * Among several at one address: FUNC before NOTYPE, global before weak before local, sized before unsized, no leading
 * underscore before one, then the shorter, then the bytewise smaller.
 */
struct symtab *symtab_new(const struct symtab_files *files);
/*
 * The same with only the symbols that it takes to name @at, @n of them, which then have the same names; worth it
 * where symtab_few_pays().
 */
struct symtab *symtab_new_few(const struct symtab_files *files, const struct svma *at, size_t n);
bool symtab_few_pays(const struct symtab_files *files, size_t n);
void symtab_free(struct symtab *st);	/* accepts NULL */

/* Can it be asked for @addr? */
bool symtab_has(const struct symtab *st, struct svma addr);
/*
 * Where the symbol without a size that begins at @start ends, which is at @end (svma, as all) at the latest. Asked once for each.
 */
typedef uint64_t (*symtab_reach_fn)(void *ctx, uint64_t start, uint64_t end);
/* 0, or -ENOENT. */
int symtab_lookup(struct symtab *st, struct svma addr, symtab_reach_fn reach, void *ctx, struct symbol *out);

#endif
