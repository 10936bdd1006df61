/* Inlined functions and source lines of one binary from debug info, one pass over a compilation unit. */
#ifndef NSPROF_INLINES_H
#define NSPROF_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "support/symbol.h"

struct cache;
struct debug_files;
struct elf_file;
struct inline_index;
struct strbuf;

/*
 * Of the binary @elf at @path, else of its debug file, one of which is not NULL where there is any debug info. Nothing is read
 * before the first lookup. @cache: where what is found is kept, NULL: nowhere. All borrowed for its life.
 */
struct inline_index *inlines_new(struct elf_file *elf, struct debug_files *files, const char *path, const struct cache *cache);
void inlines_free(struct inline_index *ix);	/* accepts NULL */

/*
 * Names of the functions inlined at @addr, innermost first, into @names (at most @max); the last entry
 * is NOT the concrete function (that name comes from the symbols). How many; 0 when there are none or
 * no debug info. Names are linkage names where the debug info has them, else plain names; borrowed.
 */
size_t inlines_lookup(struct inline_index *ix, struct svma addr, const char **names, size_t max);

/*
 * As symtab_lookup(), of the debug info: the concrete function at @addr, by its linkage name if it has one, and its piece of
 * code there. For addresses that no symbol covers (functions of GHC, a debug file without .symtab).
 */
int inlines_symbol(struct inline_index *ix, struct svma addr, struct symbol *out);

/*
 * Where the frames at @addr stand in the source: those of inlines_lookup(), innermost first, and
 * behind them the concrete function. What the innermost one executes comes from the line table, what
 * each other one does from the call that was inlined there. How many of @max were filled; the
 * last one is always the concrete function's.
 */
size_t inlines_lines(struct inline_index *ix, struct svma addr, struct source_line *out, size_t max);
/*
 * The source line of the instruction at @addr, which may be an inlined function's: its file as the compiler was told,
 * with the folder, in @path, whose contents go. False when there is none; a *@line of 0: the compiler made this code up.
 */
bool inlines_source(struct inline_index *ix, struct svma addr, struct strbuf *path, uint32_t *line);
/*
 * Before the first lookup, while others use the files as well: unpack its debug info in the background, if
 * that takes long and there is a CPU to spare.
 */
void inlines_ahead(struct inline_index *ix);
/* Inlined functions will be looked up at @off, an offset in the binary. By the thread that called inlines_ahead(). */
void inlines_expected(const struct inline_index *ix, uint64_t off);
/*
 * Before the first lookup: share it out among threads, part i for the addresses from starts[i]
 * up to starts[i + 1], ascending; starts[0] counts as 0. Each part may then be asked by one thread at
 * a time. How many of the @n parts there are: 1 where that is not possible or does not pay. @lines: they will be
 * asked for lines, too.
 */
unsigned int inlines_split(struct inline_index *ix, const struct svma *starts, unsigned int n, bool lines);
/* Is there no debug info, so that none of these has an answer? */
bool inlines_none(const struct inline_index *ix);
/* Can that be told without a look at the debug info, from what an earlier run left in the cache? */
bool inlines_known(const struct inline_index *ix, struct svma addr);
/* Write what was found to the cache. After the last lookup. */
void inlines_keep(struct inline_index *ix);

#endif
