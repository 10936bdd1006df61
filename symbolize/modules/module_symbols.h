/* The symbols of a module. */
#ifndef NSPROF_MODULE_SYMBOLS_H
#define NSPROF_MODULE_SYMBOLS_H

#include <stddef.h>

#include "addr.h"
#include "modules/module.h"
#include "support/symbol.h"

/*
 * What is at @addr, from the table of all its files (symtab.h), which is made when it is first asked for. 0 or -ENOENT. How far symbols
 * without a size reach is made_rows_reach()'s to tell.
 */
int module_symbol(struct module *m, struct svma addr, struct symbol *out);
/*
 * @at will be looked up, and mostly nothing else: where that is less work, the table that is asked for them has only
 * the symbols it takes. The names are the same. Before the first lookup.
 */
void module_symbols_expect(struct module *m, const struct svma *at, size_t n);

#endif
