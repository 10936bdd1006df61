/* The flat table with the stacks of each row below it, folded (perf report -g folded). */
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
	enum chains_value value;	/* in front of each stack */
	bool callee;			/* leaf first */
	bool samples;			/* the rows tell how many they have */
	double percent_limit;		/* of stacks */
};

/*
 * A row for each combination of keys in which samples end, the most first, and behind each "VALUE FRAME;FRAME..." for its
 * stacks. Names are as they are, but for what could steer a terminal. @separator: between columns; 0: they are
 * aligned. How many rows its limits leave out.
 */
uint64_t chains_text(const struct profile *p, const struct table_opts *o, const struct chains_opts *co, char separator, bool color,
		     FILE *to);

#endif
