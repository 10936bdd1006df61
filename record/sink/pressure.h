/*
 * What the recorder gives up, and when, if it cannot keep up. First the pool of blocks absorbs.
 * Then compression gets faster, and stops. Then stack copies are cut, and then whole samples are
 * dropped, of all threads alike. Samples of unbounded events beside others are spare: they go first.
 * Side-band is never dropped. Each change is an event in the recording.
 *
 * Two values are read after each drain: how much of the writer's pool is in use, and how full the
 * fullest ring became again during the drain. The latter is below a few percent while draining is
 * faster than sampling, however full the rings were before.
 */
#ifndef NSPROF_PRESSURE_H
#define NSPROF_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* What is left of a stack copy at PRESSURE_CUT: the innermost frames, bytes. */
#define PRESSURE_COPY_BYTES 4096
/* A level is left when nothing has asked for it for this long. */
#define PRESSURE_CALM_NS 1000000000ull
/* At PRESSURE_DROP one of 2^turns samples is kept; turns grows to this if that is not enough. */
#define PRESSURE_TURNS_MAX 6

struct pressure {
	enum pressure_level level;
	enum pressure_cause cause;	/* of the last change */
	uint32_t turns;			/* 1 and up at PRESSURE_DROP, else 0 */
	uint64_t since;			/* ns, last change of level or turns */
	uint64_t asked;			/* ns, when the level was last asked for */
	uint64_t n[PRESSURE_LEVELS];	/* times each level was entered */
	uint64_t ns[PRESSURE_LEVELS];	/* time at each, up to the last pressure_update() */
	uint64_t updated;		/* ns of that; 0 = never */
	bool spares;			/* some samples are spare, others are not */
};

/*
 * @now in ns; @pool, @rings: percent in use. True if the level has changed. It rises at once, and
 * falls by one level after PRESSURE_CALM_NS.
 */
bool pressure_update(struct pressure *p, uint64_t now, unsigned int pool, unsigned int rings);

/* The largest part of a stack copy to use now, bytes. Samples that are not @spare have another level. */
static inline size_t pressure_copy_max(const struct pressure *p, bool spare)
{
	const enum pressure_level from = p->spares && !spare ? PRESSURE_DROP : PRESSURE_CUT;

	return p->level >= from ? PRESSURE_COPY_BYTES : SIZE_MAX;
}

static inline bool pressure_drops(const struct pressure *p)
{
	return p->level >= PRESSURE_DROP;
}

/*
 * Does sample number @turn of its thread stay while pressure_drops()? Where some are spare, nearly
 * all of these go at once, and others only if that was not enough for a second.
 */
static inline bool pressure_keeps(const struct pressure *p, uint32_t turn, bool spare)
{
	const uint32_t turns = !p->spares ? p->turns : spare ? PRESSURE_TURNS_MAX : p->turns - 1;

	return !(turn & ((1u << turns) - 1));
}

#endif
