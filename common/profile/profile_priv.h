/* What the files that build a profile share (profile.h). */
#ifndef NSPROF_PROFILE_PRIV_H
#define NSPROF_PROFILE_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Finds ids of things by their contents: open addressing, linear probing, 0 = free. */
struct idset {
	uint32_t *slots;	/* owned */
	size_t nslots;		/* power of two */
};

/*
 * Finds children of nodes. A node's first child is stored by the node's id: most nodes have no
 * other. New nodes have no children to find, so a million chains cost no table look-up. Further
 * children are in a table. Nodes are entered when a child is looked up; adding chains alone needs
 * no entries.
 */
struct kids {
	uint32_t *first;	/* owned; first child by node, for nodes below @upto; 0: none */
	size_t cap;		/* of first */
	uint32_t upto;		/* nodes from here on are not entered yet */
	struct u64map others;	/* by parent << 32 | frame: no look at the node itself is needed */
};

struct profile_index {
	struct idset frames, threads;
	struct kids kids;
	size_t frames_cap, nodes_cap, threads_cap, counts_cap;
};

void kids_fini(struct kids *k);

/* Exits with a message when @n, the number of @what so far, leaves no id for one more. */
void profile_check_room(uint64_t n, const char *what);

#endif
