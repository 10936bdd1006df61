/* The symbols of a module: one sorted table, from every file there is for it. */
#ifndef NSPROF_SYMTAB_H
#define NSPROF_SYMTAB_H

#include <stddef.h>

#include "addr.h"
#include "module.h"
#include "symbol.h"

struct symtab;

/* Builds the table on first use from module's elf, debug file, .gnu_debugdata and captured slice, in that
 * order of preference for an address. 0 or -ENOENT. How far zero-sized symbols reach is
 * made_rows_reach()'s to tell; among several at one address: FUNC before NOTYPE, global before weak before local, sized
 * before unsized, no leading underscore before one, then the shorter, then the bytewise smaller. */
int symtab_lookup(struct module *m, struct svma addr, struct symbol *out);
void symtab_free(struct symtab *st);
/*
 * @at will be looked up, and mostly nothing else: where that is less work, the table that is asked for them has only
 * the symbols it takes. The names are the same. Before the first lookup.
 */
void symtab_expect(struct module *m, const struct svma *at, size_t n);

#endif
