#include "dwarf/dies_walk.h"

#include <dwarf.h>

/* Moves to the entry at @off, or past the ends of lists there. */
static void walk_to(struct dies_walk *w, uint64_t off)
{
	while (w->depth) {
		if (!off || !dies_read(w->dies, off, &w->at)) {
			w->depth = 0;
		} else if (!w->at.tag) {
			off = w->at.behind;
			w->depth--;
		} else {
			return;
		}
	}
}

void dies_walk_start(struct dies_walk *w, const struct dies *dies, uint64_t off)
{
	w->dies = dies;
	w->depth = dies_read(dies, off, &w->at) && w->at.children;
	walk_to(w, w->at.behind);
}

void dies_walk_next(struct dies_walk *w, bool into)
{
	into = into && w->at.children;
	w->depth += into;
	walk_to(w, into ? w->at.behind : dies_behind(w->dies, &w->at));
}

bool die_holds_functions(uint32_t tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	/*
	 * Pascal, Ada, D and GNU C have functions inside functions. Types mostly hold only
	 * declarations.
	 */
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return deep;
	default:
		return false;
	}
}
