/* The symbols of a binary: one sorted table made from all its files. */
#ifndef NSPROF_SYMTAB_H
#define NSPROF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "support/symbol.h"

struct elf_file;
struct symtab;

/* The files to read symbols from; NULL: not available. Borrowed for the life of the table. */
struct symtab_files {
	struct elf_file *elf, *debug, *slice;
	struct elf_file *names;	/* instead of @slice: owned by the table from now on */
	const char *path;	/* for messages */
};

/*
 * Reads the tables of the files and .gnu_debugdata. Order of preference for an address: @elf,
 * @debug, .gnu_debugdata, @slice. If several names share an address: FUNC before NOTYPE, global
 * before weak before local, sized before unsized, no leading underscore before one, then the
 * shorter name, then the bytewise smaller one.
 */
struct symtab *symtab_new(const struct symtab_files *files);
/*
 * The same with only the symbols that are needed to name the @n addresses @at. Their names are the
 * same as from the whole table. Use it if symtab_few_pays().
 */
struct symtab *symtab_new_few(const struct symtab_files *files, const struct svma *at, size_t n);
bool symtab_few_pays(const struct symtab_files *files, size_t n);
void symtab_free(struct symtab *st);	/* accepts NULL */

/* Can @addr be looked up in this table? */
bool symtab_has(const struct symtab *st, struct svma addr);
/*
 * Returns the end of the unsized symbol that begins at @start; it is at most @end. All are svmas.
 * Called once per symbol.
 */
typedef uint64_t (*symtab_reach_fn)(void *ctx, uint64_t start, uint64_t end);
/* 0, or -ENOENT if no symbol holds @addr. */
int symtab_lookup(struct symtab *st, struct svma addr, symtab_reach_fn reach, void *ctx, struct symbol *out);

#endif
