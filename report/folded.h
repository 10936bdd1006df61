/* Folded text of any tool: "root;caller;leaf COUNT" lines into a call tree. */
#ifndef NSPROF_FOLDED_H
#define NSPROF_FOLDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct calltree;

struct folded_stats {
	uint64_t lines;		/* stacks read */
	uint64_t bad;		/* lines that are not "frames COUNT"; the first is shown */
	uint64_t total;		/* sum of the counts */
};

/*
 * Read @in to its end. A count is the last blank-separated word, decimal, a fraction is cut; 0 counts
 * nothing. "# ..." lines and empty lines are skipped. Annotations _[k] _[j] _[i] at the end of a frame become its
 * hue. @leading: that many leading frames are no functions (comm, process), and
 * LEADING_RUNTIME_HELPER behind one of them is none, either. Bad lines are told of when there
 * are good ones, too. 0, or negative errno after a message naming @name.
 */
int folded_read(FILE *in, const char *name, unsigned int leading, struct calltree *t, struct folded_stats *st);

#endif
