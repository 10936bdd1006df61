/* One profile's stacks as rows of a comparison, and how much of each there is in each block of time. */
#ifndef NSPROF_DIFF_AMOUNTS_H
#define NSPROF_DIFF_AMOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diff/diff.h"

enum {
	AMOUNTS_COLUMNS_MAX = 8192,	/* the statistics' time and memory grow with it */
	AMOUNTS_BLOCKS_MAX = 512,	/* of one profile: neighbours are put together */
};

struct amounts {
	const struct profile *profile;	/* borrowed */
	uint32_t *frame_row;	/* owned; [frame] -> row, 0: no function */
	uint32_t nblocks;	/* of the profile's time */
	uint32_t group;		/* blocks of the profile put together to one of the run */
	uint32_t *stack;	/* owned; rows of the last amounts_stack(), each once, innermost first */
	size_t stack_cap;
	uint32_t self;		/* row that stack's samples end in; 0: none */
	uint32_t *seen;		/* owned; [row] -> number of the stack it was met in last */
	size_t nrows;
	uint32_t serial;
};

/* Takes @frame_row. */
void amounts_init(struct amounts *a, const struct profile *p, enum diff_per per, uint32_t *frame_row);
void amounts_fini(struct amounts *a);
/* How many rows there are, before the first stack. */
void amounts_rows(struct amounts *a, size_t nrows);
/* Fills @stack and @self; returns the number of rows in @stack. */
size_t amounts_stack(struct amounts *a, uint32_t node);
/*
 * @n blocks of time of @a's profile into @run, whose memory is the caller's: free(run->divisor). Columns are those
 * that d->row[].column says.
 */
void amounts_run(struct amounts *a, const struct diff_input *in, const struct diff *d, size_t ncolumns, struct diff_run *run);
/* The share of the samples of @p's recording that were lost, dropped or not taken, 0 to below 1; 0 where that is not known. */
double amounts_missing(const struct profile *p);
/* Adds @weight to the columns of a stack that amounts_stack() gave just now. */
void amounts_add(const struct amounts *a, const struct diff *d, size_t nstack, double weight, double *columns);

#endif
