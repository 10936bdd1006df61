/*
 * Which processes have begun another program by now, as far as side-band tells that lies in the rings and was not handed on yet:
 * what /proc says at that moment may be of a time that the order of records has not come to.
 */
#ifndef NSPROF_EXECS_H
#define NSPROF_EXECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "events/ring.h"

struct execs {
	struct ring **rings;	/* borrowed; those that side-band comes in are looked at */
	size_t n;
	bool shared;		/* it comes among the samples, in all of them */
	struct u64map last;	/* pid -> ns, of the latest exec seen */
	size_t limit;		/* entries from which on those handed on are let go */
	uint64_t lost;		/* ns, of the latest word that records were lost; 0 = none */
};

/* Own with execs_fini(). */
void execs_init(struct execs *x, struct ring **rings, size_t n, bool shared);
void execs_fini(struct execs *x);

/*
 * Did process @pid begin a program after @time, ns of CLOCK_MONOTONIC? Looks at each record once, and at those that came meanwhile:
 * asked after something was read from /proc, "no" holds for what was read. Records that were lost are not known.
 */
bool execs_since(struct execs *x, uint32_t pid, uint64_t time);
/* Is there word after @time that records were lost, before it perhaps? Looks as execs_since() does. */
bool execs_lost_since(struct execs *x, uint64_t time);

#endif
