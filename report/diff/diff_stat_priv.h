/*
 * Shared by the parts of the statistics: sums over one side's units, batches of blocks, and single
 * columns.
 */
#ifndef NSPROF_DIFF_STAT_PRIV_H
#define NSPROF_DIFF_STAT_PRIV_H

#include "diff/diff_stat.h"

enum { BATCHES_MIN = 4 };	/* per side; with fewer, times tell nothing: 8 batches can be dealt
				 * out in only 70 ways */

/*
 * Sums over one side's units, from which variances are computed. Arrays have one value per column.
 */
struct sums {
	double units, d, dd, weight, samples;
	double *x, *xx, *xd;
};

/* Zeros all sums; the caller frees @s->x. */
void sums_init(struct sums *s, size_t ncolumns);
void sums_clear(struct sums *s, size_t ncolumns);
void sums_add(struct sums *s, const struct diff_run *r, size_t block, size_t ncolumns);
void sums_add_run(struct sums *s, const struct diff_run *r, size_t ncolumns);
double sums_rate(const struct sums *s, size_t c);
/* Over both sides, weighted by samples: the rate if nothing changed. */
double sums_pooled_rate(const struct sums *a, const struct sums *b, size_t c);
/*
 * Variance of the rate if samples were independent. One sample is added, since zero samples do not
 * prove that there can be none. It assumes at least as many samples as the rate @pooled gives;
 * otherwise a column with few samples by chance would also seem to vary little.
 */
double sums_count_var(const struct sums *s, size_t c, bool share, double pooled);
/*
 * The number of equal units that would tell as much. It is smaller than the real number if a few
 * units hold most of the divisor. At least 1.5.
 */
double sums_effective(const struct sums *s);
/*
 * Variance of the rate, from the differences between units (linearized variance of a ratio). Never
 * less than sums_count_var().
 */
double sums_unit_var(const struct sums *s, size_t c, bool share, double pooled);

/*
 * Merges every @len blocks of each run into one; a short rest joins the last. Free with
 * batches_free().
 */
struct diff_run *batches_of(const struct diff_run *runs, size_t nruns, size_t len, size_t ncolumns);
void batches_free(struct diff_run *batched, size_t nruns);
/* Number of blocks in the shortest run. */
size_t batches_fewest(const struct diff_run *runs, size_t nruns);
/*
 * Chooses the number of blocks per batch; @left: the remaining correlation of neighbouring batches.
 */
size_t batches_choose(const struct diff_run *runs, size_t nruns, size_t ncolumns, bool share, double left[DIFF_SIDES]);
/* Factor on a variance for batches that are still correlated. */
double batches_persistence(const struct diff_run *batched, size_t nruns, unsigned int side, size_t ncolumns, size_t c, double left);

/* Variance of a rate due to run_noise. */
double column_unseen(double rate, const struct diff_stat_opts *o);
/* Computes the remaining members from rates, variances and df, except p_all. */
void column_finish(struct diff_column *c);
/* Computes p_all and the critical value from each column's p (S. Holm, 1979). */
void columns_holm(struct diff_stat *st, double df, double alpha);

/* Computes DIFF_BY_RUNS. */
void stat_by_runs(const struct diff_run *runs, const struct diff_run *batched, size_t nruns, const double left[DIFF_SIDES],
		  const struct diff_stat_opts *o, struct diff_stat *st);

#endif
