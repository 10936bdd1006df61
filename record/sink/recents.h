/*
 * The last stack copies of threads that were sampled lately, for as long as they lie in their rings: most of a
 * thread's next copy is as the one before, and that need not be looked at word by word. Nothing is copied for it.
 */
#ifndef NSPROF_RECENTS_H
#define NSPROF_RECENTS_H

#include <stdint.h>

#include "events/ring.h"
#include "mask/maskset.h"

struct recent {
	uint64_t who;			/* pid << 32 | tid; 0: nobody */
	const struct ring *ring;	/* borrowed; NULL: elsewhere, which does not last */
	uint64_t pos;			/* of the record in @ring, bytes since its beginning */
	uint64_t version, top;		/* of the mappings that its copy was reduced with; version 0: others than ever */
	uint64_t serial;		/* of the sample, see struct sample_in */
	uint32_t owner;			/* seen_owner() of then */
	struct mask_last last;		/* without words for recents_put() */
};

struct recents;

/* Own with recents_free(). */
struct recents *recents_new(void);
void recents_free(struct recents *rs);		/* accepts NULL */

/* Of the thread @who, reduced with mappings as in @ms, and still there; else NULL. Until the next recents_put(). */
const struct recent *recents_find(const struct recents *rs, uint64_t who, const struct maskset *ms);

/* Where the next copy is to be reduced to. Until the next recents_put(). */
struct stack_words *recents_room(struct recents *rs);

/* @now's words lie in recents_room(). */
void recents_put(struct recents *rs, const struct recent *now);

/* Rings are given back: nothing is there any more. */
void recents_forget(struct recents *rs);

#endif
