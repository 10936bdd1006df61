/* The symbols of a module. */
#ifndef NSPROF_MODULE_SYMBOLS_H
#define NSPROF_MODULE_SYMBOLS_H

#include <stddef.h>

#include "addr.h"
#include "modules/module.h"
#include "support/symbol.h"

/*
 * Looks up @addr in the symbol table of all the module's files (symtab.h), which is made on first
 * use. 0 or -ENOENT. made_rows_reach() finds the end of symbols without a size.
 */
int module_symbol(struct module *m, struct svma addr, struct symbol *out);
/*
 * Announces that @at, and little else, will be looked up. If that saves work, their table gets only
 * the symbols it needs; the names are the same. Call it before the first lookup.
 */
void module_symbols_expect(struct module *m, const struct svma *at, size_t n);

#endif
