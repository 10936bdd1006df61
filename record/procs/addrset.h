/*
 * A set of addresses, of one address space of the caller's choice. Code that is sampled often has
 * several of them in each 64 bytes, which take one slot of a hash table together.
 */
#ifndef NSPROF_ADDRSET_H
#define NSPROF_ADDRSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Empty when zeroed. */
struct addrset {
	struct u64map chunks;	/* address / 64 -> bit n: chunk * 64 + n is in the set */
	size_t n;		/* addresses */
};

bool addrset_has(const struct addrset *s, uint64_t addr);
void addrset_add(struct addrset *s, uint64_t addr);
/* All of them in order, owned by the caller; with room for one even if there is none. */
uint64_t *addrset_sorted(const struct addrset *s);
void addrset_clear(struct addrset *s);	/* keeps the memory */
void addrset_fini(struct addrset *s);	/* leaves it empty */

#endif
