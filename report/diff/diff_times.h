/* The times of a recording that a profile covers. Amounts per second count only these. */
#ifndef NSPROF_DIFF_TIMES_H
#define NSPROF_DIFF_TIMES_H

#include <stddef.h>
#include <stdint.h>

struct profile;

struct span {
	uint64_t from, to;	/* ns since the start of the recording, [from, to) */
};

struct spans {
	struct span *v;		/* owned; ascending, disjoint */
	size_t n;
};

/*
 * The times that @p covers: from the start of the recording to its last sample, or to the end of
 * its last block if that is unknown, restricted by its "times" (nsprof.profile(5)). No spans: the
 * profile covers no time. Free with free(v).
 */
struct spans times_of(const struct profile *p);
/* Seconds of @s within [@from, @to), in ns. */
double times_within(const struct spans *s, uint64_t from, uint64_t to);

#endif
