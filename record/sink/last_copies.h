/*
 * The last stack copies of threads that were sampled lately, for as long as they lie in their rings: most of a
 * thread's next copy is as the one before, and that need not be looked at word by word. Nothing is copied for it.
 */
#ifndef NSPROF_LAST_COPIES_H
#define NSPROF_LAST_COPIES_H

#include <stdint.h>

#include "events/ring.h"
#include "mask/maskset.h"

struct last_copy {
	uint64_t who;			/* pid << 32 | tid; 0: nobody */
	const struct ring *ring;	/* borrowed; NULL: elsewhere, which does not last */
	uint64_t pos;			/* of the record in @ring, bytes since its beginning */
	uint64_t version, top;		/* of the mappings that its copy was reduced with; version 0: others than ever */
	uint64_t serial;		/* of the sample, see struct sample_in */
	uint32_t owner;			/* seen_addrs_owner() of then */
	struct mask_last last;		/* without words for last_copies_put() */
};

struct last_copies;

/* Own with last_copies_free(). */
struct last_copies *last_copies_new(void);
void last_copies_free(struct last_copies *rs);		/* accepts NULL */

/* Of the thread @who, reduced with mappings as in @ms, and still there; else NULL. Until the next last_copies_put(). */
const struct last_copy *last_copies_find(const struct last_copies *rs, uint64_t who, const struct maskset *ms);

/* Where the next copy is to be reduced to. Until the next last_copies_put(). */
struct stack_words *last_copies_room(struct last_copies *rs);

/* @now's words lie in last_copies_room(). */
void last_copies_put(struct last_copies *rs, const struct last_copy *now);

/* Rings are given back: nothing is there any more. */
void last_copies_forget(struct last_copies *rs);

#endif
