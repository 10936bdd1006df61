/*
 * One profile's stacks as rows of a comparison, and the amount of each row in each block of time.
 */
#ifndef NSPROF_DIFF_AMOUNTS_H
#define NSPROF_DIFF_AMOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diff/diff.h"
#include "profile/wait_frames.h"

enum {
	AMOUNTS_COLUMNS_MAX = 8192,	/* time and memory of the statistics grow with it */
	AMOUNTS_BLOCKS_MAX = 512,	/* per profile: beyond it, neighbouring blocks are merged */
};

struct amounts {
	const struct profile *profile;	/* borrowed */
	uint32_t *frame_row;	/* owned; [frame] -> row, 0: not a function */
	struct wait_frames waits;	/* owned */
	uint32_t nblocks;	/* number of blocks in the profile's time */
	uint32_t group;		/* blocks of the profile that form one block of the run */
	uint32_t *stack;	/* owned; rows of the last amounts_stack(), each once, innermost
				 * first */
	size_t stack_cap;
	uint32_t self;		/* row in which the stack's samples end or wait; 0: none */
	uint32_t *seen;		/* owned; [row] -> number of the last stack that had it */
	size_t nrows;
	uint32_t serial;
};

/* Takes ownership of @frame_row. */
void amounts_init(struct amounts *a, const struct profile *p, enum diff_per per, uint32_t *frame_row);
void amounts_fini(struct amounts *a);
/* Sets the number of rows; call before the first stack. */
void amounts_rows(struct amounts *a, size_t nrows);
/* Fills a->stack and a->self; returns the number of rows in a->stack. */
size_t amounts_stack(struct amounts *a, uint32_t node);
/*
 * Fills @run with @a's profile, block by block. The caller owns the memory: free(run->divisor).
 * d->row[].column numbers the columns.
 */
void amounts_run(struct amounts *a, const struct diff_input *in, const struct diff *d, size_t ncolumns, struct diff_run *run);
/*
 * The share of samples in @p's recording that were lost, dropped or not taken, 0 to below 1; 0 if
 * unknown.
 */
double amounts_missing(const struct profile *p);
/* Adds @weight to the columns of the stack from the last amounts_stack(). */
void amounts_add(const struct amounts *a, const struct diff *d, size_t nstack, double weight, double *columns);

#endif
