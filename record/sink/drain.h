/*
 * Merges many rings into one stream in order of time. Each ring is in order by itself. A record may
 * be taken only when no ring can still produce an older one, so the youngest are left for the next
 * round.
 */
#ifndef NSPROF_DRAIN_H
#define NSPROF_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/ring.h"
#include "sink/sink.h"

/*
 * From the time stamp until the record is visible: interrupts or a stolen virtual CPU may come
 * between.
 */
#define DRAIN_GUARD_NS 1000000ull

#define DRAIN_ALL UINT64_MAX

struct drain_head {
	uint64_t time;
	struct ring *ring;
};

struct drain {
	struct ring **rings;		/* owned array, borrowed rings; data rings first */
	size_t n;
	struct drain_head *heap;	/* owned; room for n */
	uint64_t last;			/* time of the youngest record handed on */
	bool side_news;			/* side-band came between the last two rounds */
	bool side_flood;		/* so much of it that the next should not be later */
	void *bounce;			/* owned */
};

/* Takes @ndata rings of @data and @nside of @side, without those that have no page. */
void drain_init(struct drain *d, struct ring *data, size_t ndata, struct ring *side, size_t nside);
void drain_fini(struct drain *d);

/* Is none of the rings so full right now that it should be drained before anything else? */
bool drain_has_room(const struct drain *d);

/*
 * Hands every record with time <= @limit (ns of CLOCK_MONOTONIC) to @s. The caller takes @limit
 * from the clock before the call, less DRAIN_GUARD_NS; DRAIN_ALL once all events are stopped.
 * Returns the number of records. Stops early if the sink has failed.
 */
uint64_t drain_round(struct drain *d, uint64_t limit, struct sink *s);

/*
 * How full the fullest data ring is now, percent. Ignores rings below @least bytes, where a single
 * sample would look like trouble, and those of unbounded events beside others.
 */
unsigned int drain_fill(const struct drain *d, uint64_t least);

#endif
