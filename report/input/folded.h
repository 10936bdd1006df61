/* Folded text of any tool: "root;caller;leaf COUNT" lines into a profile. */
#ifndef NSPROF_FOLDED_H
#define NSPROF_FOLDED_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

#define FOLDED_BAD_SHOWN 3

struct folded_stats {
	uint64_t lines;		/* stacks read */
	uint64_t bad;		/* lines that are not "frames COUNT"; messages show the first
				 * FOLDED_BAD_SHOWN */
};

/*
 * Reads @in to its end. The count is the last blank-separated word, decimal. Fractions are cut with
 * a warning; 0 counts nothing; a count beyond 64 bits becomes the largest 64-bit number. "# ..."
 * lines and empty lines are skipped. For frames and their marks see folded_frame.h. The unit of the
 * counts is unknown: they go to samples, and there are no periods. Bad lines cause a warning only
 * if there are good ones. Does not finish @p. Returns 0, or negative errno after a message that
 * names @name.
 */
int folded_read(FILE *in, const char *name, struct profile *p, struct folded_stats *st);

#endif
