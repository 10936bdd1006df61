/* What the parts of the statistics share: sums over units of one side, batches of blocks, and single columns. */
#ifndef NSPROF_DIFF_STAT_PRIV_H
#define NSPROF_DIFF_STAT_PRIV_H

#include "diff/diff_stat.h"

enum { BATCHES_MIN = 4 };	/* of one side, below which times say nothing: 70 ways to deal out 8 batches */

/* What variances are made of: sums over units of one side. Arrays have a value for each column. */
struct sums {
	double units, d, dd, weight, samples;
	double *x, *xx, *xd;
};

/* Zeros; the caller frees @s->x. */
void sums_init(struct sums *s, size_t ncolumns);
void sums_clear(struct sums *s, size_t ncolumns);
void sums_add(struct sums *s, const struct diff_run *r, size_t block, size_t ncolumns);
void sums_add_run(struct sums *s, const struct diff_run *r, size_t ncolumns);
double sums_rate(const struct sums *s, size_t c);
/* Of both sides, each by how many samples it has: what the rate is when nothing changed. */
double sums_pooled_rate(const struct sums *a, const struct sums *b, size_t c);
/*
 * Of the rate, if samples were independent. With one sample more than there are, since none are no proof that there can be none; and
 * at least with those that the rate @pooled makes: what has few by chance would seem to vary little, too.
 */
double sums_count_var(const struct sums *s, size_t c, bool share, double pooled);
/* As many units of equal size tell as much: fewer, where some have most of it all. At least 1.5. */
double sums_effective(const struct sums *s);
/* Of the rate, by how the units differ (a ratio's variance, linearized). Never less than by counts. */
double sums_unit_var(const struct sums *s, size_t c, bool share, double pooled);

/* The runs with @len blocks put together to one; a short rest goes to the last. batches_free() frees them. */
struct diff_run *batches_of(const struct diff_run *runs, size_t nruns, size_t len, size_t ncolumns);
void batches_free(struct diff_run *batched, size_t nruns);
/* Blocks of the run that has the fewest. */
size_t batches_fewest(const struct diff_run *runs, size_t nruns);
/* How many blocks make a batch; @left: correlation of neighbouring batches that is left. */
size_t batches_choose(const struct diff_run *runs, size_t nruns, size_t ncolumns, bool share, double left[DIFF_SIDES]);
/* What batches that still follow each other make of a variance, as a factor. */
double batches_persistence(const struct diff_run *batched, size_t nruns, unsigned int side, size_t ncolumns, size_t c, double left);

/* Variance of a rate that run_noise makes. */
double column_unseen(double rate, const struct diff_stat_opts *o);
/* Rates, variances and df are there: the rest but p_all. */
void column_finish(struct diff_column *c);
/* p_all and the critical value, from each column's p (S. Holm, 1979). */
void columns_holm(struct diff_stat *st, double df, double alpha);

/* DIFF_BY_RUNS. */
void stat_by_runs(const struct diff_run *runs, const struct diff_run *batched, size_t nruns, const double left[DIFF_SIDES],
		  const struct diff_stat_opts *o, struct diff_stat *st);

#endif
