/*
 * Statistics of a comparison: what changed from one side to the other, and how certain that is.
 * This module sees only numbers. A recording is a sequence of blocks of time, and in each block
 * every column (a function's self or total) has an amount. A side's rate of a column is its sum
 * divided by the sum of a divisor: all samples, seconds, or units of work. contrib/doc/diff.md
 * gives the reasons.
 */
#ifndef NSPROF_DIFF_STAT_H
#define NSPROF_DIFF_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

/*
 * One recording. Blocks follow each other in time and are equally long, except the last. The caller
 * owns all arrays.
 */
struct diff_run {
	unsigned int side;
	size_t nblocks;		/* at least 1; 1: times are unknown */
	double *divisor;	/* [nblocks] */
	double *weight;		/* [nblocks]: weight of all samples in the block, in the unit of x */
	double *samples;	/* [nblocks]: number of samples */
	double *x;		/* [nblocks][ncolumns] */
};

enum diff_method {
	DIFF_BY_TIME,		/* one recording per side: permutes blocks of time; family-wise
				 * error from the maximum over all columns */
	DIFF_BY_RUNS,		/* several recordings per side: variance between them, shrunk
				 * towards that of all columns; Student's t, Holm */
	DIFF_BY_COUNT,		/* no times: treats samples as independent, which they are not;
				 * normal distribution, Holm */
};

/*
 * Normal quantile of 0.8. A change this many standard errors beyond the critical value is found 8
 * times out of 10.
 */
#define DIFF_POWER_80 0.8416

struct diff_column {
	double rate[DIFF_SIDES];
	double var[DIFF_SIDES];	/* variance of the rate from all known sources */
	double change, se;	/* after - before */
	double df;		/* degrees of freedom of se */
	double p;		/* for this column alone, two-sided */
	double p_all;		/* among all columns: the smallest family-wise error rate at which
				 * it is significant */
	double unseen;		/* part of var[0] + var[1] that was assumed (run_noise); more
				 * samples do not reduce it */
};

struct diff_stat_opts {
	bool share;		/* the divisor is the weight of all samples, so no amount can exceed
				 * it */
	double alpha;		/* family-wise rate of false alarms */
	double run_noise;	/* DIFF_BY_TIME, DIFF_BY_COUNT: assumed relative s.d. of a
				 * function's cost from run to run */
	uint64_t seed;
	const double *thread_var[DIFF_SIDES];	/* [ncolumns]: variance of the rate between threads;
						 * NULL: too few threads */
	double thread_df[DIFF_SIDES];
};

struct diff_stat {
	enum diff_method method;
	struct diff_column *column;	/* owned; [ncolumns] */
	size_t ncolumns;
	double critical;	/* |change / se| above which a column is significant among all */
	size_t units[DIFF_SIDES];	/* number of batches of blocks, or of recordings */
	size_t batch;		/* blocks per batch */
	double correlation[DIFF_SIDES];	/* remaining correlation of neighbouring batches: mean of
					 * the larger columns */
	double run_noise;	/* relative s.d. of costs from run to run; DIFF_BY_RUNS: estimated;
				 * otherwise: assumed */
	double prior_df;	/* DIFF_BY_RUNS: how many recordings the information from other
				 * columns is worth to each */
};

/* Fills @st. Runs may be in any order; each side needs at least one. */
void diff_stat_compute(const struct diff_run *runs, size_t nruns, size_t ncolumns, const struct diff_stat_opts *opts,
		       struct diff_stat *st);
void diff_stat_fini(struct diff_stat *st);

/* The change that would be found significant in 80 of 100 such comparisons. */
double diff_stat_detectable(const struct diff_stat *st, const struct diff_column *c);
/*
 * The typical size of changes relative to their standard errors (median of all columns): about 1 if
 * nothing changed and the statistics are right. 0 without columns.
 */
double diff_stat_noise(const struct diff_stat *st);

#endif
