/* Which times of a recording a profile is of: amounts for each second are for those only. */
#ifndef NSPROF_DIFF_TIMES_H
#define NSPROF_DIFF_TIMES_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct span {
	uint64_t from, to;	/* ns since the recording was begun, [from, to) */
};

struct spans {
	struct span *v;		/* owned; rising, apart from each other */
	size_t n;
};

/*
 * Of @p: from the begin to the recording's last sample, or the end of its last block where that is not known, and of this only what its "times"
 * (nsprof.profile(5)) leave. None: it lasted no time. Own with free(v).
 */
struct spans times_of(const struct profile *p);
/* Seconds of them in [@from, @to), ns. */
double times_within(const struct spans *s, uint64_t from, uint64_t to);

#endif
