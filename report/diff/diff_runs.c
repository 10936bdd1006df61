/* Several recordings per side: chance is measured by how they differ. */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_stat_priv.h"
#include "grid/distributions.h"

enum { PRIOR_DF_MAX = 1000 };	/* beyond it, one variance for all */

/*
 * Variance of each side's rate within recordings, from batches of time if there are enough. A
 * side's rate is the sum over its recordings, so their variances add up, weighted by the square of
 * their part of the divisor.
 */
static void within_runs(const struct diff_run *batched, size_t nruns, const double left[DIFF_SIDES],
			const struct diff_stat_opts *o, struct diff_stat *st, double *within)
{
	double d[DIFF_SIDES] = { 0 };
	size_t n = st->ncolumns;
	struct sums s, side[DIFF_SIDES];

	sums_init(&s, n);
	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		sums_init(&side[i], n);
	for (size_t i = 0; i < nruns; i++)
		sums_add_run(&side[batched[i].side], &batched[i], n);
	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		d[i] = side[i].d;
	for (size_t i = 0; i < nruns; i++) {
		double part, longer;

		sums_clear(&s, n);
		sums_add_run(&s, &batched[i], n);
		part = d[batched[i].side] > 0 ? s.d / d[batched[i].side] : 0;
		longer = (1 + MAX(left[batched[i].side], 0)) / (1 - MIN(left[batched[i].side], 0.9));
		for (size_t c = 0; c < n; c++) {
			double pooled = sums_pooled_rate(&side[0], &side[1], c);

			within[c * DIFF_SIDES + batched[i].side] += part * part *
				(s.units < BATCHES_MIN ? sums_count_var(&s, c, o->share, pooled) : longer * sums_unit_var(&s, c, o->share, pooled));
		}
	}
	for (size_t c = 0; c < n; c++)
		for (unsigned int i = 0; i < DIFF_SIDES; i++)
			st->column[c].rate[i] = sums_rate(&side[i], c);
	free(s.x);
	free(side[0].x);
	free(side[1].x);
}

/*
 * The variance of each column's change from the differences between recordings of one side, with
 * @df degrees of freedom: the squared deviations of their rates from the side's, with the weights
 * they have in the side's rate.
 */
static void between_runs(const struct diff_run *runs, size_t nruns, const struct diff_stat *st, double df,
			 const size_t count[DIFF_SIDES], double *between)
{
	double d[DIFF_SIDES] = { 0 }, *own = xcalloc(nruns, sizeof(*own));
	size_t n = st->ncolumns;

	for (size_t i = 0; i < nruns; i++) {
		for (size_t b = 0; b < runs[i].nblocks; b++)
			own[i] += runs[i].divisor[b];
		d[runs[i].side] += own[i];
	}
	for (size_t c = 0; c < n; c++) {
		double squares = 0;

		for (size_t i = 0; i < nruns; i++) {
			unsigned int side = runs[i].side;
			double x = 0, e;

			for (size_t b = 0; b < runs[i].nblocks; b++)
				x += runs[i].x[b * n + c];
			e = d[side] > 0 ? (x - st->column[c].rate[side] * own[i]) / (d[side] / (double)count[side]) : 0;
			squares += e * e;
		}
		between[c] = squares / df * (1 / (double)count[0] + 1 / (double)count[1]);
	}
	free(own);
}

/*
 * The relative run-to-run noise of functions' costs that explains @between beyond @within: the
 * weighted mean of the remainder, each column weighted by its precision. @moved: variance of the
 * change for a noise of 1.
 */
static double fit_noise(const double *between, const double *within, const double *moved, size_t n)
{
	double noise2 = 0;

	for (int round = 0; round < 20; round++) {
		double sum = 0, weights = 0;

		for (size_t c = 0; c < n; c++) {
			double expected = within[2 * c] + within[2 * c + 1] + noise2 * moved[c];
			double h = expected > 0 ? moved[c] / (expected * expected) : 0;

			sum += h * (between[c] - within[2 * c] - within[2 * c + 1]);
			weights += h * moved[c];
		}
		noise2 = weights > 0 && sum > 0 ? sum / weights : 0;
	}
	return sqrt(noise2);
}

/*
 * Estimates what all columns say about the ratios of found to expected variance. Few recordings
 * make each ratio imprecise. The ratios are assumed to follow an inverse gamma distribution around
 * a common value; its mean and degrees of freedom come from the mean and variance of their
 * logarithms (G. Smyth, 2004: moderated t).
 */
static void fit_prior(const double *ratio, size_t n, double df, double *typical, double *prior_df)
{
	double mean = 0, var = 0, shift = dist_digamma(df / 2) - log(df / 2);
	size_t used = 0;

	*typical = 1;
	*prior_df = 0;
	for (size_t c = 0; c < n; c++)
		if (ratio[c] > 0) {
			mean += log(ratio[c]) - shift;
			used++;
		}
	if (used < 10)
		return;
	mean /= (double)used;
	for (size_t c = 0; c < n; c++)
		if (ratio[c] > 0)
			var += (log(ratio[c]) - shift - mean) * (log(ratio[c]) - shift - mean);
	var = var / (double)(used - 1) - dist_trigamma(df / 2);
	if (var > 1e-3) {
		*prior_df = 2 * dist_trigamma_inverse(var);
		*typical = exp(mean + dist_digamma(*prior_df / 2) - log(*prior_df / 2));
	} else {
		/* No more scatter than this number of recordings causes: one ratio for all. */
		*prior_df = PRIOR_DF_MAX;
		*typical = exp(mean);
	}
	*prior_df = MIN(*prior_df, PRIOR_DF_MAX);
}

/* Degrees of freedom: effective number of recordings per side, less one each. */
static double runs_df(const struct diff_run *runs, size_t nruns)
{
	struct sums side[DIFF_SIDES] = { 0 };
	double df = 0;

	for (size_t i = 0; i < nruns; i++) {
		double d = 0;

		for (size_t b = 0; b < runs[i].nblocks; b++)
			d += runs[i].divisor[b];
		side[runs[i].side].units++;
		side[runs[i].side].d += d;
		side[runs[i].side].dd += d * d;
	}
	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		df += side[i].units > 1 ? sums_effective(&side[i]) - 1 : 0;
	return df;
}

void stat_by_runs(const struct diff_run *runs, const struct diff_run *batched, size_t nruns, const double left[DIFF_SIDES],
		    const struct diff_stat_opts *o, struct diff_stat *st)
{
	size_t n = st->ncolumns, count[DIFF_SIDES] = { 0 };
	double *within = xcalloc(5 * n + 1, sizeof(*within)), *between = within + 2 * n, *moved = within + 3 * n, *ratio = within + 4 * n;
	const struct diff_stat_opts whole = { .share = o->share, .run_noise = 1 };
	double df, noise2, typical;

	for (size_t i = 0; i < nruns; i++)
		count[runs[i].side]++;
	df = runs_df(runs, nruns);
	within_runs(batched, nruns, left, o, st, within);
	between_runs(runs, nruns, st, df, count, between);
	for (size_t c = 0; c < n; c++)
		for (unsigned int i = 0; i < DIFF_SIDES; i++)
			moved[c] += column_unseen(st->column[c].rate[i], &whole) / (double)count[i];
	st->run_noise = fit_noise(between, within, moved, n);
	noise2 = st->run_noise * st->run_noise;
	for (size_t c = 0; c < n; c++) {
		double expected = within[2 * c] + within[2 * c + 1] + noise2 * moved[c];

		ratio[c] = expected > 0 ? between[c] / expected : 1;
	}
	fit_prior(ratio, n, df, &typical, &st->prior_df);
	for (size_t c = 0; c < n; c++) {
		struct diff_column *col = &st->column[c];
		/*
		 * A column that jumps from run to run is unlike the others: use at least its own
		 * ratio.
		 */
		double f = MAX((st->prior_df * typical + df * ratio[c]) / (st->prior_df + df), ratio[c]);

		for (unsigned int i = 0; i < DIFF_SIDES; i++) {
			double seen = within[DIFF_SIDES * c + i];

			col->var[i] = MAX(f * (seen + noise2 * column_unseen(col->rate[i], &whole) / (double)count[i]), seen);
		}
		col->df = df + st->prior_df;
		column_finish(col);
	}
	columns_holm(st, df + st->prior_df, o->alpha);
	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		st->units[i] = count[i];
	free(within);
}
