/*
 * The statistics of a comparison: what changed from one side to the other, and how sure that is. It knows numbers only:
 * a recording is a row of blocks of time, and in each block every column (a function's self or total) has an amount.
 * A side's rate of a column is its sum over the sum of a divisor: all samples, seconds, or units of work. The reasons are in
 * contrib/doc/diff.md.
 */
#ifndef NSPROF_DIFF_STAT_H
#define NSPROF_DIFF_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

/* One recording. Blocks follow each other in time and are equally long, but for the last. All owned by the caller. */
struct diff_run {
	unsigned int side;
	size_t nblocks;		/* at least 1; 1: times are not known */
	double *divisor;	/* [nblocks] */
	double *weight;		/* [nblocks]: of all samples of the block, in the unit of x */
	double *samples;	/* [nblocks]: how many */
	double *x;		/* [nblocks][ncolumns] */
};

enum diff_method {
	DIFF_BY_TIME,		/* one recording a side: blocks of time, permuted; family-wise by the largest of all */
	DIFF_BY_RUNS,		/* several: how they differ, shrunk to how all columns do; Student's t, Holm */
	DIFF_BY_COUNT,		/* no times: as if samples were independent, which they are not; normal, Holm */
};

#define DIFF_POWER_80 0.8416	/* normal quantile of 0.8: so many standard errors beyond what is significant, and it is found 8 times of 10 */

struct diff_column {
	double rate[DIFF_SIDES];
	double var[DIFF_SIDES];	/* of the rate, all that is known of put together */
	double change, se;	/* after - before */
	double df;		/* of se */
	double p;		/* of this column alone, two-sided */
	double p_all;		/* of all columns together: the smallest family-wise rate at which it is significant */
	double unseen;		/* the part of var[0] + var[1] that was assumed (run_noise): more samples do not make it less */
};

struct diff_stat_opts {
	bool share;		/* the divisor is the weight of all samples: amounts cannot be more than it */
	double alpha;		/* family-wise rate of false alarms */
	double run_noise;	/* DIFF_BY_TIME, DIFF_BY_COUNT: assumed s.d. of a function's cost from run to run, relative */
	uint64_t seed;
	const double *thread_var[DIFF_SIDES];	/* [ncolumns]: of the rate, by threads; NULL: too few of them */
	double thread_df[DIFF_SIDES];
};

struct diff_stat {
	enum diff_method method;
	struct diff_column *column;	/* owned; [ncolumns] */
	size_t ncolumns;
	double critical;	/* |change / se| beyond which a column is significant among all */
	size_t units[DIFF_SIDES];	/* batches of blocks, or recordings */
	size_t batch;		/* blocks to a batch */
	double correlation[DIFF_SIDES];	/* of neighbouring batches, that is left: mean of the larger columns */
	double run_noise;	/* relative s.d. of costs from run to run: DIFF_BY_RUNS: found; else as assumed */
	double prior_df;	/* DIFF_BY_RUNS: recordings that what the other columns say is worth to each */
};

/* Fills @st. Runs may stand in any order; each side needs one. */
void diff_stat_compute(const struct diff_run *runs, size_t nruns, size_t ncolumns, const struct diff_stat_opts *opts,
		       struct diff_stat *st);
void diff_stat_fini(struct diff_stat *st);

/* The change that would be found significant in 80 of 100 such comparisons. */
double diff_stat_detectable(const struct diff_stat *st, const struct diff_column *c);
/*
 * How large changes are beside their standard errors, in the middle of all columns: about 1 where nothing changed and the
 * statistics is right. 0 without columns.
 */
double diff_stat_noise(const struct diff_stat *st);

#endif
