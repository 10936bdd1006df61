/* How much threads that do the same work differ. */
#ifndef NSPROF_DIFF_THREADS_H
#define NSPROF_DIFF_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "diff/diff.h"

struct amounts;

/* A hash of a name of a thread or process, a string of @p, without its numbers. */
uint64_t diff_threads_name(const struct profile *p, uint32_t id);

/*
 * Stores in @var [@ncolumns] the variance of each column's rate on @side, estimated from
 * differences between threads; for shares only. Threads of one recording with the same name except
 * for numbers, and processes of the same name, are examples of one kind; the kinds themselves are
 * fixed. Returns the degrees of freedom; 0 if no kind has two members or the divisor is not the
 * samples.
 */
double threads_variance(struct amounts *a, const struct diff_input *in, size_t n, unsigned int side, const struct diff *d,
			size_t ncolumns, double *var);

#endif
