/* How much threads that do the same work differ in it. */
#ifndef NSPROF_DIFF_THREADS_H
#define NSPROF_DIFF_THREADS_H

#include <stddef.h>

#include "diff/diff.h"

struct amounts;

/*
 * The variance of each column's rate on @side by how threads differ, in @var [@ncolumns], for shares: threads of one recording that have
 * the same name but for numbers, and processes of the same name, are taken for examples of a kind; kinds do not vary.
 * Returns the degrees of freedom; 0: there are no two of a kind, or times are not what is divided by.
 */
double threads_variance(struct amounts *a, const struct diff_input *in, size_t n, unsigned int side, const struct diff *d,
			size_t ncolumns, double *var);

#endif
