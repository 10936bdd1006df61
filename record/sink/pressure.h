/*
 * What is given up, and when, if the recorder cannot keep up: first the pool of blocks absorbs, then
 * compression gets faster and ends, then stack copies are cut, then whole samples are dropped, of all
 * threads alike. Side-band never. Each change is an event in the recording.
 *
 * Two things are looked at after each drain: how much of the writer's pool is in use, and how full
 * the fullest ring has become again while the drain was at work. The latter is below a few percent
 * as long as draining is faster than sampling, however full the rings were before.
 */
#ifndef NSPROF_PRESSURE_H
#define NSPROF_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* What is left of a stack copy at PRESSURE_CUT: the innermost frames, bytes. */
#define PRESSURE_COPY_BYTES 4096
/* A level is left when nothing asked for it for so long. */
#define PRESSURE_CALM_NS 1000000000ull
/* At PRESSURE_DROP one sample of 2^turns is kept; turns grows to this if that is not enough. */
#define PRESSURE_TURNS_MAX 6

struct pressure {
	enum pressure_level level;
	enum pressure_cause cause;	/* of the last change */
	uint32_t turns;			/* 1 and up at PRESSURE_DROP, else 0 */
	uint64_t since;			/* ns, last change of level or turns */
	uint64_t asked;			/* ns, when the level was last asked for */
	uint64_t n[PRESSURE_LEVELS];	/* times each was come to */
	uint64_t ns[PRESSURE_LEVELS];	/* time at each, up to the last pressure_update() */
	uint64_t updated;		/* ns of that; 0 = never */
};

/*
 * @now in ns; @pool, @rings: percent in use. True when the level has changed. A rise takes effect at
 * once, a fall by one level after PRESSURE_CALM_NS.
 */
bool pressure_update(struct pressure *p, uint64_t now, unsigned int pool, unsigned int rings);

/* The most of a stack copy that is to be looked at now, bytes. */
static inline size_t pressure_copy_max(const struct pressure *p)
{
	return p->level >= PRESSURE_CUT ? PRESSURE_COPY_BYTES : SIZE_MAX;
}

static inline bool pressure_drops(const struct pressure *p)
{
	return p->level >= PRESSURE_DROP;
}

/* Is sample number @turn of its thread one of those that stay while pressure_drops()? */
static inline bool pressure_keeps(const struct pressure *p, uint32_t turn)
{
	return !(turn & ((1u << p->turns) - 1));
}

#endif
