/* The sections and strings of a file with debug info, for inlines.c. */
#ifndef NSPROF_INLINES_SOURCE_H
#define NSPROF_INLINES_SOURCE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "debuginfo/linetable.h"
#include "dwarf/dies.h"
#include "elf/elf_file.h"

/* A file with debug info, as a whole. */
struct inline_source {
	Dwarf *dw;
	const struct elf_file *code; /* the binary itself if there is one: knows what is code */
	struct elf_file *alt; /* the dwz file of @dw, borrowed; NULL: not available */
	size_t ranges_left; /* number of ranges that may still be read */
	struct elf_file *file; /* the file of @dw */
	bool have_lines; /* @lines was filled */
	struct linetable_sections lines;
	uint64_t info_size; /* bytes of .debug_info; 0: not looked at yet */
	struct dies *dies; /* owned; NULL until needed */
	struct dies_sections secs; /* for @dies */
	struct inline_split *split; /* this source is one split unit; NULL: it is not */
	size_t rows_left; /* number of line table rows that may still be read */
};

/* Is @have the name of the section @name (".debug_..."), compressed (".zdebug_...") or not? */
static inline bool inline_section_is(const char *have, const char *name)
{
	return !strcmp(have, name) || (have[0] == '.' && have[1] == 'z' && !strcmp(have + 2, name + 1));
}

/*
 * A section as libdw reads it; NULL if it is missing or not available in one piece. By now, libdw
 * has unpacked a section in the older compressed format, ".zdebug_info", except for its name.
 */
Elf_Scn *inline_section(Dwarf *dw, const char *name, GElf_Shdr *sh);

/* Reads the sections of @src.lines, unless already done. */
void inline_source_lines(struct inline_source *src);

/*
 * The string that @attr refers to, in the source or its dwz file; NULL: none. Borrowed from the
 * debug info.
 */
const char *inline_text(struct inline_source *src, Dwarf_Attribute *attr);

#endif
