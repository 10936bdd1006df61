/* A walk through the entries below one, in file order. */
#ifndef NSPROF_DIES_WALK_H
#define NSPROF_DIES_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dies.h"

struct dies_walk {
	const struct dies *dies;	/* borrowed */
	struct die at;			/* the current entry */
	size_t depth;			/* of it: 1 for children of the first entry; 0: done */
};

/* Moves to the first child of the entry at @off, in the unit that is selected in @dies. */
void dies_walk_start(struct dies_walk *w, const struct dies *dies, uint64_t off);
/* Moves to the first child of the current entry (@into), if it has any, or to the next entry after it. */
void dies_walk_next(struct dies_walk *w, bool into);

/*
 * Can there be functions below an entry with this tag (DW_TAG_*)? @deep: also functions inside of
 * functions and types.
 */
bool die_holds_functions(uint32_t tag, bool deep);

#endif
