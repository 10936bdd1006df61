/* The part of inlines.c that knows a file with debug info as a whole: its sections and strings. */
#ifndef NSPROF_INLINES_SOURCE_H
#define NSPROF_INLINES_SOURCE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "debuginfo/inlines_dies.h"
#include "debuginfo/linetable.h"
#include "elf/elf_file.h"

/* What reading needs to know of the file as a whole. */
struct inline_source {
	Dwarf *dw;
	const struct elf_file *code; /* the binary itself if there is one: says what is code */
	struct elf_file *alt; /* the dwz file that @dw knows, NULL: references into it cannot be followed; borrowed */
	size_t ranges_left; /* how many more ranges are read before giving up */
	struct elf_file *file; /* that @dw is of */
	bool have_lines; /* @lines was filled */
	struct linetable_sections lines;
	uint64_t info_size; /* bytes of .debug_info; 0: not looked at yet */
	struct inline_dies *dies; /* owned; NULL until needed */
	struct inline_dies_sections secs; /* for it */
	struct inline_split *split; /* this is the source of one split unit; NULL: it is not */
	size_t rows_left; /* how many more rows of line tables are read */
};

/* Is a section called @have the one called ".debug_...", compressed or not? */
static inline bool inline_section_is(const char *have, const char *name)
{
	return !strcmp(have, name) || (have[0] == '.' && have[1] == 'z' && !strcmp(have + 2, name + 1));
}

/*
 * A section as libdw reads it; NULL: it is not there, or nowhere in one piece. One of the older form of compression, ".zdebug_info",
 * libdw has unpacked by then, name and all but that.
 */
Elf_Scn *inline_section(Dwarf *dw, const char *name, GElf_Shdr *sh);

/* Reads the sections of @src.lines, unless it has them. */
void inline_source_lines(struct inline_source *src);

/* The string @attr leads to, of a source's own or of its dwz file; NULL: none. Borrowed from the debug info. */
const char *inline_text(struct inline_source *src, Dwarf_Attribute *attr);

#endif
