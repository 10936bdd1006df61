/* The part of inlines.c that reads trees of debug information entries. */
#ifndef NSPROF_INLINES_CU_H
#define NSPROF_INLINES_CU_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elf_file.h"
#include "inlines_dies.h"
#include "linetable.h"
#include "ranges.h"

/* One DW_TAG_inlined_subroutine with code. */
struct inline_node {
	Dwarf_Off die;
	uint32_t parent; /* index of the one it was inlined into; INLINE_OUTERMOST: the function */
	bool named; /* name was looked for */
	const char *name; /* borrowed from the debug info; NULL: none found */
};

#define INLINE_OUTERMOST UINT32_MAX

/* Is a section called @have the one called ".debug_...", compressed or not? */
static inline bool inline_section_is(const char *have, const char *name)
{
	return !strcmp(have, name) || (have[0] == '.' && have[1] == 'z' && !strcmp(have + 2, name + 1));
}

struct inline_func {
	Dwarf_Off die;
	bool walked;
	struct ranges ranges;		/* svma -> index of the innermost node */
	struct inline_node *nodes;	/* owned; parents before children */
	size_t nnodes, cap;
};

struct inline_cu {
	Dwarf_Off die;
	bool listed, listed_deep;
	struct ranges ranges;		/* svma -> index of funcs */
	struct inline_func *funcs;	/* owned */
	size_t nfuncs, cap;
	struct linetable *lines;	/* owned; NULL until asked */
	bool split_tried;
	struct inline_split *split;	/* owned; where the entries are, NULL: in the file itself */
};

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

/* The code ranges of @die, added to @out with @id. How many were added. */
size_t inline_die_ranges(struct inline_source *src, Dwarf_Die *die, struct ranges *out,
			 uint32_t id);

/*
 * Fill @cu with the functions that have code: those of the unit and its namespaces or, @deep, those
 * inside of other functions and types too. Known functions are dropped before.
 */
void inline_cu_list(struct inline_source *src, struct inline_cu *cu, bool deep);

/* Fill @fn with what is inlined into it. */
void inline_func_walk(struct inline_source *src, struct inline_func *fn);

/* Reads the sections of @src.lines, unless it has them. */
void inline_source_lines(struct inline_source *src);
/* The unit's line table; never NULL. */
const struct linetable *inline_cu_lines(struct inline_source *src, struct inline_cu *cu);

/* The call that was inlined: DW_AT_call_file (as the unit's line table counts) and DW_AT_call_line. */
void inline_node_call(struct inline_source *src, const struct inline_node *node, uint64_t *file,
		      uint32_t *line);

/* The string @attr leads to, of a source's own or of its dwz file; NULL: none. Borrowed from the debug info. */
const char *inline_text(struct inline_source *src, Dwarf_Attribute *attr);
/* Linkage name, else plain name, of @node; NULL when it has none. Borrowed from the debug info. */
const char *inline_node_name(struct inline_source *src, struct inline_node *node);

/* The same of the function itself. */
const char *inline_func_name(struct inline_source *src, const struct inline_func *fn);

void inline_cu_fini(struct inline_cu *cu);

#endif
