/* Folded text of any tool: "root;caller;leaf COUNT" lines into a profile. */
#ifndef NSPROF_FOLDED_H
#define NSPROF_FOLDED_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

#define FOLDED_BAD_SHOWN 3

struct folded_stats {
	uint64_t lines;		/* stacks read */
	uint64_t bad;		/* lines that are not "frames COUNT"; the first FOLDED_BAD_SHOWN are shown */
};

/*
 * Read @in to its end. A count is the last blank-separated word, decimal, a fraction is cut, which is said; 0 counts
 * nothing, what does not fit 64 bits is the largest number that does. "# ..." lines and empty lines are skipped.
 * Annotations _[k] _[j] _[i] at the end of a frame become its kind, _[joined] its mark. What is counted is not known:
 * it stands in samples, and there are no periods. Bad lines are told of when there
 * are good ones, too. Does not finish @p. 0, or negative errno after a message naming @name.
 */
int folded_read(FILE *in, const char *name, struct profile *p, struct folded_stats *st);

#endif
