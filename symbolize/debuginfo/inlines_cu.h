/* The part of inlines.c that reads trees of debug information entries. */
#ifndef NSPROF_INLINES_CU_H
#define NSPROF_INLINES_CU_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debuginfo/inlines_source.h"
#include "debuginfo/linetable.h"
#include "support/ranges.h"

/* One DW_TAG_inlined_subroutine with code. */
struct inline_node {
	Dwarf_Off die;
	uint32_t parent; /* index of the one it was inlined into; INLINE_OUTERMOST: the function */
	bool named; /* name was looked for */
	const char *name; /* borrowed from the debug info; NULL: none found */
};

#define INLINE_OUTERMOST UINT32_MAX

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

/* The unit's line table; never NULL. */
const struct linetable *inline_cu_lines(struct inline_source *src, struct inline_cu *cu);

/* The call that was inlined: DW_AT_call_file (as the unit's line table counts) and DW_AT_call_line. */
void inline_node_call(struct inline_source *src, const struct inline_node *node, uint64_t *file,
		      uint32_t *line);

/* Linkage name, else plain name, of @node; NULL when it has none. Borrowed from the debug info. */
const char *inline_node_name(struct inline_source *src, struct inline_node *node);

/* The same of the function itself. */
const char *inline_func_name(struct inline_source *src, const struct inline_func *fn);

void inline_cu_fini(struct inline_cu *cu);

#endif
