/* The part of inlines.c that reads units whose entries lie in a .dwo file or a .dwp package. */
#ifndef NSPROF_INLINES_SPLIT_H
#define NSPROF_INLINES_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/ranges.h"

struct inline_source;
struct inline_split;
struct debug_files;

/*
 * What the unit with entry @skeleton in @main left behind when it was linked. NULL when it is whole,
 * or when no file has the rest of it. The file is looked for as the binary at @path has it (@files) and
 * has to have the unit with the same signature.
 */
struct inline_split *inline_split_open(struct debug_files *files, const char *path, struct inline_source *main,
				       Dwarf_Die *skeleton);
void inline_split_free(struct inline_split *sp);	/* accepts NULL */

/* To be read instead of the program's, from entry *@top on. Borrowed. */
struct inline_source *inline_split_source(struct inline_split *sp);
Dwarf_Off inline_split_top(const struct inline_split *sp);

/* The code ranges of @die that its DW_AT_ranges names, added to @out with @id. False: it has none. */
bool inline_split_ranges(struct inline_split *sp, Dwarf_Die *die, struct ranges *out, uint32_t id);

#endif
