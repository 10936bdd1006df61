#include "diff/diff_stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_stat_priv.h"
#include "grid/distributions.h"

enum { PERMUTATIONS = 999 };

/* ---- one recording per side: permuted batches ---- */

/* Returns the degrees of freedom of a variance that is a sum of two (Welch, Satterthwaite). */
static double welch_df(double va, double dfa, double vb, double dfb)
{
	double low = va * va / dfa + vb * vb / dfb;

	return low > 0 ? (va + vb) * (va + vb) / low : dfa + dfb;
}

/*
 * A side's variance over time, or between threads if they differ more than time explains (F test at
 * 5 %): work that stays with a thread does not average out over time. With few threads the variance
 * is imprecise, so it is widened as t is.
 */
static double side_var(double by_time, double df, double by_thread, double thread_df)
{
	double t;

	if (!(by_thread > by_time && by_time > 0 && thread_df >= 3) ||
	    dist_f_tail(by_thread / by_time, thread_df, df) > 0.05)
		return by_time;
	t = dist_t_limit(0.05, thread_df) / dist_t_limit(0.05, INFINITY);
	return by_thread * t * t;
}

static size_t below(uint64_t *state, size_t n)
{
	*state += 0x9e3779b97f4a7c15ull;
	return (size_t)(((unsigned __int128)hash_u64(*state) * n) >> 64);
}

static double largest_t(const struct sums *a, const struct sums *b, size_t ncolumns, bool share)
{
	double max = 0;

	for (size_t c = 0; c < ncolumns; c++) {
		double change = sums_rate(a, c) - sums_rate(b, c), pooled = sums_pooled_rate(a, b, c);
		double var = sums_unit_var(a, c, share, pooled) + sums_unit_var(b, c, share, pooled);

		if (var > 0)
			max = MAX(max, change * change / var);
	}
	return sqrt(max);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * Fills @largest, ascending, with the largest |t| of all columns when batches are dealt out to the
 * sides at random, PERMUTATIONS times. Each permutation divides by its own variance, so that sides
 * may differ in anything but the rate.
 */
static void permute(const struct diff_run side[DIFF_SIDES], size_t ncolumns, const struct diff_stat_opts *o, double *largest)
{
	size_t na = side[0].nblocks, n = na + side[1].nblocks;
	uint32_t *order = xcalloc(n, sizeof(*order));
	uint64_t state = o->seed;
	struct sums all, a, b;

	sums_init(&all, ncolumns);
	sums_init(&a, ncolumns);
	sums_init(&b, ncolumns);
	sums_add_run(&all, &side[0], ncolumns);
	sums_add_run(&all, &side[1], ncolumns);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (int k = 0; k < PERMUTATIONS; k++) {
		sums_clear(&a, ncolumns);
		for (size_t i = 0; i < na; i++) {
			size_t j = i + below(&state, n - i);
			uint32_t u = order[j];

			order[j] = order[i];
			order[i] = u;
			sums_add(&a, &side[u >= na], u >= na ? u - na : u, ncolumns);
		}
		b.units = all.units - a.units;
		b.d = all.d - a.d;
		b.dd = all.dd - a.dd;
		b.weight = all.weight - a.weight;
		b.samples = all.samples - a.samples;
		for (size_t c = 0; c < 3 * ncolumns; c++)
			b.x[c] = all.x[c] - a.x[c];
		largest[k] = largest_t(&a, &b, ncolumns, o->share);
	}
	qsort(largest, PERMUTATIONS, sizeof(*largest), ascending);
	free(order);
	free(all.x);
	free(a.x);
	free(b.x);
}

static void by_time(const struct diff_run *batched, size_t nruns, const double left[DIFF_SIDES], const struct diff_stat_opts *o,
		    struct diff_stat *st)
{
	size_t n = st->ncolumns, keep = (size_t)ceil((1 - o->alpha) * (PERMUTATIONS + 1));
	struct diff_run side[DIFF_SIDES] = { batched[0], batched[1] };
	double largest[PERMUTATIONS];
	struct sums s[DIFF_SIDES];

	if (side[0].side != DIFF_BEFORE) {
		side[0] = batched[1];
		side[1] = batched[0];
	}
	permute(side, n, o, largest);
	st->critical = largest[MIN(MAX(keep, 1), PERMUTATIONS) - 1];
	for (unsigned int i = 0; i < DIFF_SIDES; i++) {
		sums_init(&s[i], n);
		sums_add_run(&s[i], &side[i], n);
		st->units[i] = side[i].nblocks;
	}
	for (size_t c = 0; c < n; c++) {
		struct diff_column *col = &st->column[c];
		double pooled = sums_pooled_rate(&s[0], &s[1], c), t;
		size_t smaller;

		for (unsigned int i = 0; i < DIFF_SIDES; i++) {
			double v = sums_unit_var(&s[i], c, o->share, pooled) * batches_persistence(batched, nruns, i, n, c, left[i]), unseen;

			if (o->thread_var[i])
				v = side_var(v, sums_effective(&s[i]) - 1, o->thread_var[i][c], o->thread_df[i]);
			col->rate[i] = sums_rate(&s[i], c);
			unseen = column_unseen(col->rate[i], o);
			col->var[i] = v + unseen;
			col->unseen += unseen;
		}
		col->df = welch_df(col->var[0], sums_effective(&s[0]) - 1, col->var[1], sums_effective(&s[1]) - 1);
		column_finish(col);
		t = col->se > 0 ? fabs(col->change / col->se) : 0;
		smaller = BISECT(PERMUTATIONS, i, largest[i] < t);
		col->p_all = (double)(1 + PERMUTATIONS - smaller) / (1 + PERMUTATIONS);
	}
	free(s[0].x);
	free(s[1].x);
}

/* ---- no times ---- */

static void by_count(const struct diff_run *runs, size_t nruns, const struct diff_stat_opts *o, struct diff_stat *st)
{
	struct sums s[DIFF_SIDES];

	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		sums_init(&s[i], st->ncolumns);
	for (size_t i = 0; i < nruns; i++)
		sums_add_run(&s[runs[i].side], &runs[i], st->ncolumns);
	for (size_t c = 0; c < st->ncolumns; c++) {
		struct diff_column *col = &st->column[c];
		double pooled = sums_pooled_rate(&s[0], &s[1], c);

		for (unsigned int i = 0; i < DIFF_SIDES; i++) {
			double unseen;

			col->rate[i] = sums_rate(&s[i], c);
			unseen = column_unseen(col->rate[i], o);
			col->var[i] = sums_count_var(&s[i], c, o->share, pooled) + unseen;
			col->unseen += unseen;
		}
		col->df = INFINITY;
		column_finish(col);
	}
	columns_holm(st, INFINITY, o->alpha);
	free(s[0].x);
	free(s[1].x);
}

/* ---- all of it ---- */

void diff_stat_compute(const struct diff_run *runs, size_t nruns, size_t ncolumns, const struct diff_stat_opts *o,
		       struct diff_stat *st)
{
	struct diff_run *batched;

	memset(st, 0, sizeof(*st));
	st->ncolumns = ncolumns;
	st->column = xcalloc(ncolumns + 1, sizeof(*st->column));
	st->batch = 1;
	st->run_noise = o->run_noise;
	if (batches_fewest(runs, nruns) >= BATCHES_MIN)
		st->batch = batches_choose(runs, nruns, ncolumns, o->share, st->correlation);
	batched = batches_of(runs, nruns, st->batch, ncolumns);
	if (nruns > DIFF_SIDES) {
		st->method = DIFF_BY_RUNS;
		stat_by_runs(runs, batched, nruns, st->correlation, o, st);
	} else if (batches_fewest(batched, nruns) >= BATCHES_MIN) {
		st->method = DIFF_BY_TIME;
		by_time(batched, nruns, st->correlation, o, st);
	} else {
		st->method = DIFF_BY_COUNT;
		by_count(runs, nruns, o, st);
	}
	batches_free(batched, nruns);
}

void diff_stat_fini(struct diff_stat *st)
{
	free(st->column);
	memset(st, 0, sizeof(*st));
}

double diff_stat_detectable(const struct diff_stat *st, const struct diff_column *c)
{
	return (st->critical + DIFF_POWER_80) * c->se;
}

double diff_stat_noise(const struct diff_stat *st)
{
	double *t = xcalloc(st->ncolumns + 1, sizeof(*t)), median;
	size_t n = 0;

	for (size_t c = 0; c < st->ncolumns; c++)
		if (st->column[c].se > 0)
			t[n++] = fabs(st->column[c].change / st->column[c].se);
	qsort(t, n, sizeof(*t), ascending);
	median = n ? (t[(n - 1) / 2] + t[n / 2]) / 2 : 0;
	free(t);
	/* The median of the absolute value of a standard normal variable. */
	return median / 0.6745;
}
