/* The flat table with the folded stacks of each row below it (perf report -g folded). */
#ifndef NSPROF_TABLE_CHAINS_H
#define NSPROF_TABLE_CHAINS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "views/table.h"

enum chains_value {
	CHAINS_PERCENT,		/* of all samples */
	CHAINS_COUNT,		/* samples */
	CHAINS_PERIOD,
};

struct chains_opts {
	enum chains_value value;	/* printed before each stack */
	bool callee;			/* leaf first */
	bool samples;			/* rows show their number of samples */
	double percent_limit;		/* limit for stacks */
};

/*
 * Writes a row per combination of keys in which samples end, largest first, each followed by "VALUE
 * FRAME;FRAME..." lines for its stacks. Names stay as they are, except for characters that could
 * control a terminal. @separator: between columns; 0: aligned columns. Returns the number of rows
 * that the limits left out.
 */
uint64_t chains_text(const struct profile *p, const struct table_opts *o, const struct chains_opts *co, char separator, bool color,
		     FILE *to);

#endif
