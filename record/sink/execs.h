/*
 * Which processes have begun another program by now, by the side-band that is in the rings and not
 * handed on yet. /proc may show a state that the order of records has not come to.
 */
#ifndef NSPROF_EXECS_H
#define NSPROF_EXECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "events/ring.h"

struct execs {
	struct ring **rings;	/* borrowed; those with side-band are read */
	size_t n;
	bool shared;		/* side-band comes among the samples, in all rings */
	struct u64map last;	/* pid -> ns, of the latest exec seen */
	size_t limit;		/* entries from which on those handed on are dropped */
	uint64_t lost;		/* ns, of the latest report of lost records; 0 = none */
};

/* Release with execs_fini(). */
void execs_init(struct execs *x, struct ring **rings, size_t n, bool shared);
void execs_fini(struct execs *x);

/*
 * Did process @pid begin a program after @time, ns of CLOCK_MONOTONIC? Reads each record once, also
 * those that came meanwhile. So after something was read from /proc, "no" holds for what was read.
 * Lost records are not known.
 */
bool execs_since(struct execs *x, uint32_t pid, uint64_t time);
/* Is there a report after @time of records lost, perhaps before it? Reads as execs_since() does. */
bool execs_lost_since(struct execs *x, uint64_t time);

#endif
