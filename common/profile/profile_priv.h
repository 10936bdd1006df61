/* What the files of a profile that is being built share (profile.h). */
#ifndef NSPROF_PROFILE_PRIV_H
#define NSPROF_PROFILE_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Ids of things by what they are: open addressing, linear probing, 0 = free. */
struct idset {
	uint32_t *slots;	/* owned */
	size_t nslots;		/* power of two */
};

/*
 * The children of nodes. The first one that a node gets is said beside the node: most have no other, and what hangs below a
 * new node is found nowhere else, so that a million chains of frames cost no look into a table. The others are in one.
 * Nodes are put in when a child is looked up: who only adds chains needs none of it.
 */
struct kids {
	uint32_t *first;	/* owned; by node below @upto; 0: none */
	size_t cap;		/* of it */
	uint32_t upto;		/* nodes from here on are not in yet */
	struct u64map others;	/* by parent << 32 | frame: what another pair has there shows without a look at its node */
};

struct profile_index {
	struct idset frames, threads;
	struct kids kids;
	size_t frames_cap, nodes_cap, threads_cap, counts_cap;
};

void kids_fini(struct kids *k);

/* Ends the program when there is no number for one more of @what: @n there are. */
void profile_check_room(uint64_t n, const char *what);

#endif
