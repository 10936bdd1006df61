/* Reads units whose entries are in a .dwo file or a .dwp package, for inlines.c. */
#ifndef NSPROF_INLINES_SPLIT_H
#define NSPROF_INLINES_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"

struct inline_source;
struct inline_split;
struct debug_files;

/*
 * Opens the split part of the unit with entry @skeleton in @main. NULL if the unit is not split, or
 * if no file has the rest. The file is looked for where the binary at @path states it (@files), and
 * must contain the unit with the same signature.
 */
struct inline_split *inline_split_open(struct debug_files *files, const char *path, struct inline_source *main,
				       Dwarf_Die *skeleton);
void inline_split_free(struct inline_split *sp);	/* accepts NULL */

/*
 * The source to read instead of the program's, from the entry at inline_split_top() on. Borrowed.
 */
struct inline_source *inline_split_source(struct inline_split *sp);
Dwarf_Off inline_split_top(const struct inline_split *sp);

/* Adds the code ranges of DW_AT_ranges of @die to @out with @id. False if it has none. */
bool inline_split_ranges(struct inline_split *sp, Dwarf_Die *die, struct ranges *out, uint32_t id);

#endif
