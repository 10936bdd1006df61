/*
 * The latest stack copies of threads that were sampled lately, while they are still in their rings.
 * Most of a thread's next copy equals the one before, and that part need not be read word by word.
 * Nothing is copied for this.
 */
#ifndef NSPROF_LAST_COPIES_H
#define NSPROF_LAST_COPIES_H

#include <stdint.h>

#include "events/ring.h"
#include "mask/maskset.h"

struct last_copy {
	uint64_t who;			/* pid << 32 | tid; 0: none */
	const struct ring *ring;	/* borrowed; NULL: not in a ring, so it does not last */
	uint64_t pos;			/* of the record in @ring, bytes since its beginning */
	uint64_t version, top;		/* of the mappings for its reduction; version 0: unequal to all */
	uint64_t serial;		/* of the sample, see struct sample_in */
	uint32_t owner;			/* seen_addrs_owner() at that time */
	struct mask_last last;		/* without words for last_copies_put() */
};

struct last_copies;

/* Release with last_copies_free(). */
struct last_copies *last_copies_new(void);
void last_copies_free(struct last_copies *rs);		/* accepts NULL */

/*
 * The copy of thread @who if it was reduced with the mappings in @ms and is still there; otherwise
 * NULL. Valid until the next last_copies_put().
 */
const struct last_copy *last_copies_find(const struct last_copies *rs, uint64_t who, const struct maskset *ms);

/* Where to put the next reduced copy. Valid until the next last_copies_put(). */
struct stack_words *last_copies_room(struct last_copies *rs);

/* @now's words are in last_copies_room(). */
void last_copies_put(struct last_copies *rs, const struct last_copy *now);

/* The rings are given back: no copy is there any more. */
void last_copies_forget(struct last_copies *rs);

#endif
