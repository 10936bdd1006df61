/*
 * Inlined functions and source lines of one binary, from its debug info. Each compilation unit is
 * read once.
 */
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
 * For the binary @elf at @path, or for its debug file. If there is any debug info, at least one of
 * them is not NULL. Nothing is read before the first lookup. @cache: keeps the results; NULL: none.
 * All are borrowed for the life of the index.
 */
struct inline_index *inlines_new(struct elf_file *elf, struct debug_files *files, const char *path, const struct cache *cache);
void inlines_free(struct inline_index *ix);	/* accepts NULL */

/*
 * Writes the names of the functions inlined at @addr to @names, innermost first (at most @max). The
 * concrete function is NOT included: its name comes from the symbols. Returns their number; 0 if
 * there are none or no debug info. Names are linkage names if the debug info has them, otherwise
 * plain names; borrowed.
 */
size_t inlines_lookup(struct inline_index *ix, struct svma addr, const char **names, size_t max);

/*
 * Like symtab_lookup(), but from the debug info: the concrete function at @addr, by its linkage
 * name if it has one, and its range of code there. For addresses that no symbol covers (GHC's
 * functions, a debug file without .symtab).
 */
int inlines_symbol(struct inline_index *ix, struct svma addr, struct symbol *out);

/*
 * Source lines of the frames at @addr: those of inlines_lookup(), innermost first, then the
 * concrete function. The line of the innermost frame comes from the line table; that of every other
 * frame is the call that was inlined there. Returns how many of @max were filled; the last one is
 * always the concrete function's.
 */
size_t inlines_lines(struct inline_index *ix, struct svma addr, struct source_line *out, size_t max);
/*
 * The source line of the instruction at @addr, which may belong to an inlined function. Replaces
 * the contents of @path with its file and folder, as given to the compiler. False if there is none.
 * *@line is 0 for code that the compiler generated.
 */
bool inlines_source(struct inline_index *ix, struct svma addr, struct strbuf *path, uint32_t *line);
/*
 * Unpacks the debug info in the background, if that takes long and a CPU is free. Call it before
 * the first lookup. Others may use the files at the same time.
 */
void inlines_ahead(struct inline_index *ix);
/*
 * Inlined functions at file offset @off of the binary will be looked up. Call it from the thread
 * that called inlines_ahead().
 */
void inlines_expected(const struct inline_index *ix, uint64_t off);
/*
 * Splits the lookups among threads: part i serves addresses from starts[i] up to starts[i + 1],
 * ascending; starts[0] counts as 0. Each part may be used by one thread at a time. Returns the
 * number of parts, at most @n; 1 if splitting is not possible or does not pay. @lines: lines will
 * be looked up, too. Call it before the first lookup.
 */
unsigned int inlines_split(struct inline_index *ix, const struct svma *starts, unsigned int n, bool lines);
/* Is there no debug info at all? Then every lookup fails. */
bool inlines_none(const struct inline_index *ix);
/* Can @addr be answered from the cache of an earlier run, without reading debug info? */
bool inlines_known(const struct inline_index *ix, struct svma addr);
/* Writes the results to the cache. Call it after the last lookup. */
void inlines_keep(struct inline_index *ix);

#endif
