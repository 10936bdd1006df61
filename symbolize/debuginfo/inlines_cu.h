/* Reads the trees of debug information entries for inlines.c. */
#ifndef NSPROF_INLINES_CU_H
#define NSPROF_INLINES_CU_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debuginfo/inlines_source.h"
#include "debuginfo/linetable.h"
#include "base/ranges.h"

/* One DW_TAG_inlined_subroutine with code. */
struct inline_node {
	Dwarf_Off die;
	uint32_t parent; /* index of the one it was inlined into; INLINE_OUTERMOST: the function */
	bool named; /* the name was looked up */
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
	struct linetable *lines;	/* owned; NULL until needed */
	bool split_tried;
	struct inline_split *split;	/* owned; holds the entries; NULL: the file itself does */
};

/* Adds the code ranges of @die to @out with @id. Returns how many were added. */
size_t inline_die_ranges(struct inline_source *src, Dwarf_Die *die, struct ranges *out,
			 uint32_t id);

/*
 * Fills @cu with the functions that have code: those of the unit and its namespaces and, if @deep,
 * those inside other functions and types. Drops the functions known so far.
 */
void inline_cu_list(struct inline_source *src, struct inline_cu *cu, bool deep);

/* Fills @fn with the functions inlined into it. */
void inline_func_walk(struct inline_source *src, struct inline_func *fn);

/* The unit's line table; never NULL. */
const struct linetable *inline_cu_lines(struct inline_source *src, struct inline_cu *cu);

/*
 * The call site that was inlined: DW_AT_call_file (a file number of the unit's line table) and
 * DW_AT_call_line.
 */
void inline_node_call(struct inline_source *src, const struct inline_node *node, uint64_t *file,
		      uint32_t *line);

/* Linkage name of @node, or its plain name; NULL if it has none. Borrowed from the debug info. */
const char *inline_node_name(struct inline_source *src, struct inline_node *node);

/* The same for the function itself. */
const char *inline_func_name(struct inline_source *src, const struct inline_func *fn);

void inline_cu_fini(struct inline_cu *cu);

#endif
