/* How much of a stack script prints: all, unless the stacks of a container have too much text together. */
#ifndef NSPROF_SCRIPT_BOUND_H
#define NSPROF_SCRIPT_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "profile/owners.h"

struct collect;
struct naming;

struct script_bound {
	const struct collect *col;	/* borrowed */
	uint64_t *bytes;		/* owned; by node: of its stack, about; NULL: nothing is cut */
	struct owners owners;
	uint64_t *levels;		/* owned; by owner: bytes of a stack */
};

/* @nodes: by collect.each. Free with script_bound_fini(), which warns about each container with cut stacks. */
void script_bound_init(struct script_bound *b, const struct collect *col, const struct naming *nm, const uint32_t *nodes);
void script_bound_fini(struct script_bound *b);
/* How many bytes of the stack at @node, from the leaf, a sample of @thread may print. */
uint64_t script_bound_bytes(struct script_bound *b, uint32_t node, uint32_t thread);
/* About how many the frame @i of @nm has. */
uint64_t script_bound_frame(const struct naming *nm, size_t i);

#endif
