#include "diff_stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dist.h"
#include "hash.h"
#include "util.h"
#include "xalloc.h"

enum {
	PERMUTATIONS = 999,
	BATCHES_MIN = 4,	/* of one side, below which times say nothing: 70 ways to deal out 8 batches */
	BATCHES_ENOUGH = 10,	/* batches are not made longer than that leaves */
	BATCHES_MAX = 64,	/* more do not make a variance better known, and cost time */
	PRIOR_DF_MAX = 1000,	/* beyond, one variance for all */
	LARGE_COLUMNS = 32,	/* whose autocorrelation decides about the length of a batch */
};
#define CORRELATION_SMALL 0.05	/* of neighbours, in the mean */
#define POWER_80 0.8416		/* normal quantile of 0.8 */

/* What variances are made of: sums over units of one side. Arrays have a value for each column. */
struct sums {
	double units, d, dd, weight, samples;
	double *x, *xx, *xd;
};

static void sums_init(struct sums *s, size_t ncolumns)
{
	memset(s, 0, sizeof(*s));
	s->x = xcalloc(3 * ncolumns + 1, sizeof(double));
	s->xx = s->x + ncolumns;
	s->xd = s->xx + ncolumns;
}

static void sums_clear(struct sums *s, size_t ncolumns)
{
	double *x = s->x, *xx = s->xx, *xd = s->xd;

	*s = (struct sums){ .x = x, .xx = xx, .xd = xd };
	memset(x, 0, 3 * ncolumns * sizeof(double));
}

static void sums_add(struct sums *s, const struct diff_run *r, size_t block, size_t ncolumns)
{
	const double *x = r->x + block * ncolumns;
	double d = r->divisor[block];

	s->units++;
	s->d += d;
	s->dd += d * d;
	s->weight += r->weight[block];
	s->samples += r->samples[block];
	for (size_t c = 0; c < ncolumns; c++) {
		s->x[c] += x[c];
		s->xx[c] += x[c] * x[c];
		s->xd[c] += x[c] * d;
	}
}

static void sums_add_run(struct sums *s, const struct diff_run *r, size_t ncolumns)
{
	for (size_t b = 0; b < r->nblocks; b++)
		sums_add(s, r, b, ncolumns);
}

static double sums_rate(const struct sums *s, size_t c)
{
	return s->d > 0 ? s->x[c] / s->d : 0;
}

/* Of both sides, each by how many samples it has: what the rate is when nothing changed. */
static double pooled_rate(const struct sums *a, const struct sums *b, size_t c)
{
	double n = a->samples + b->samples;

	return n > 0 ? (sums_rate(a, c) * a->samples + sums_rate(b, c) * b->samples) / n : 0;
}

/*
 * Of the rate, if samples were independent. With one sample more than there are, since none are no proof that there can be none; and
 * at least with those that the rate @pooled makes: what has few by chance would seem to vary little, too.
 */
static double count_var(const struct sums *s, size_t c, bool share, double pooled)
{
	double w, k, var;

	if (!(s->samples > 0 && s->d > 0 && s->weight > 0))
		return 0;
	w = s->weight / s->samples;
	k = MAX(s->x[c], pooled * s->d) / w + 1;
	var = k * (w / s->d) * (w / s->d);
	return share ? var * MAX(1 - k / (s->samples + 2), 1 / (s->samples + 2)) : var;
}

/* Of the rate, by how the units differ (a ratio's variance, linearized). Never less than by counts. */
static double unit_var(const struct sums *s, size_t c, bool share, double pooled)
{
	double p = sums_rate(s, c), floor = count_var(s, c, share, pooled), v;

	if (s->units < 2 || !(s->d > 0))
		return floor;
	v = (s->xx[c] - 2 * p * s->xd[c] + p * p * s->dd) * s->units / (s->units - 1) / (s->d * s->d);
	return MAX(v, floor);
}

/* ---- batches ---- */

/* @r with @len blocks put together to one; a short rest goes to the last. Owned by the caller: run_fini(). */
static struct diff_run run_batched(const struct diff_run *r, size_t len, size_t ncolumns)
{
	size_t n = MAX((r->nblocks + len / 2) / len, 1);
	struct diff_run out = { .side = r->side, .nblocks = n };

	out.divisor = xcalloc(n * (ncolumns + 3), sizeof(double));
	out.weight = out.divisor + n;
	out.samples = out.weight + n;
	out.x = out.samples + n;
	for (size_t b = 0; b < r->nblocks; b++) {
		size_t to = MIN(b / len, n - 1);

		out.divisor[to] += r->divisor[b];
		out.weight[to] += r->weight[b];
		out.samples[to] += r->samples[b];
		for (size_t c = 0; c < ncolumns; c++)
			out.x[to * ncolumns + c] += r->x[b * ncolumns + c];
	}
	return out;
}

static void runs_free(struct diff_run *runs, size_t nruns)
{
	for (size_t i = 0; runs && i < nruns; i++)
		free(runs[i].divisor);
	free(runs);
}

static struct diff_run *runs_batched(const struct diff_run *runs, size_t nruns, size_t len, size_t ncolumns)
{
	struct diff_run *out = xcalloc(nruns + 1, sizeof(*out));

	for (size_t i = 0; i < nruns; i++)
		out[i] = run_batched(&runs[i], len, ncolumns);
	return out;
}

/*
 * Correlation of neighbours in time, of column @c's residuals, over all runs of @side. What taking the mean from so few units takes
 * from it is given back: (1 + 3 r) / n (M. Kendall, 1954). *@n: of how many units.
 */
static double neighbours(const struct diff_run *runs, size_t nruns, unsigned int side, size_t ncolumns, size_t c, double *n)
{
	double products = 0, squares = 0, lost = 0, r;

	*n = 0;
	for (size_t i = 0; i < nruns; i++) {
		const struct diff_run *run = &runs[i];
		double x = 0, d = 0, last = 0, p;

		if (run->side != side || run->nblocks < BATCHES_MIN)
			continue;
		for (size_t b = 0; b < run->nblocks; b++) {
			x += run->x[b * ncolumns + c];
			d += run->divisor[b];
		}
		p = d > 0 ? x / d : 0;
		for (size_t b = 0; b < run->nblocks; b++) {
			double e = run->x[b * ncolumns + c] - p * run->divisor[b];

			squares += e * e;
			products += e * last;
			last = e;
		}
		*n += (double)run->nblocks;
		lost++;
	}
	if (!(squares > 0))
		return 0;
	r = products / squares;
	lost /= *n;
	return (r + lost) / (1 - MIN(3 * lost, 0.75));
}

struct large {
	size_t column;
	double size;
};

static int by_size(const void *a, const void *b)
{
	const struct large *x = a, *y = b;

	return x->size < y->size ? 1 : x->size > y->size ? -1 : x->column < y->column ? -1 : 1;
}

/* The columns that vary most, by p (1 - p) where they are shares: one of all or nothing does not vary. */
static size_t large_columns(const struct diff_run *runs, size_t nruns, size_t ncolumns, bool share, struct large *out)
{
	struct large *all = xcalloc(ncolumns + 1, sizeof(*all));
	struct sums s;
	size_t n = MIN(ncolumns, LARGE_COLUMNS);

	sums_init(&s, ncolumns);
	for (size_t i = 0; i < nruns; i++)
		sums_add_run(&s, &runs[i], ncolumns);
	for (size_t c = 0; c < ncolumns; c++) {
		double p = sums_rate(&s, c);

		all[c] = (struct large){ c, share ? p * (1 - p) : p };
	}
	if (ncolumns)
		qsort(all, ncolumns, sizeof(*all), by_size);
	memcpy(out, all, n * sizeof(*out));
	free(all);
	free(s.x);
	return n;
}

/* The larger columns' correlation of neighbours on the side that has more of it. @each: of the sides. */
static double mean_correlation(const struct diff_run *runs, size_t nruns, size_t ncolumns, const struct large *large, size_t nlarge,
			       double each[DIFF_SIDES])
{
	double weights, n;

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		weights = each[side] = 0;
		for (size_t i = 0; i < nlarge; i++) {
			each[side] += large[i].size * neighbours(runs, nruns, side, ncolumns, large[i].column, &n);
			weights += large[i].size;
		}
		each[side] = weights > 0 ? each[side] / weights : 0;
	}
	return MAX(each[0], each[1]);
}

static size_t fewest_blocks(const struct diff_run *runs, size_t nruns)
{
	size_t n = SIZE_MAX;

	for (size_t i = 0; i < nruns; i++)
		n = MIN(n, runs[i].nblocks);
	return n;
}

static size_t most_blocks(const struct diff_run *runs, size_t nruns)
{
	size_t n = 0;

	for (size_t i = 0; i < nruns; i++)
		n = MAX(n, runs[i].nblocks);
	return n;
}

/*
 * Batches as short as neighbours let them be: doubled until what is left of their correlation is small, or too few would be
 * left. For that, variances are made larger: persistence().
 */
static size_t choose_batch(const struct diff_run *runs, size_t nruns, size_t ncolumns, bool share, double left[DIFF_SIDES])
{
	size_t len = 1, nlarge, fewest = fewest_blocks(runs, nruns), most = most_blocks(runs, nruns);
	struct large large[LARGE_COLUMNS];
	double more;

	nlarge = large_columns(runs, nruns, ncolumns, share, large);
	for (;; len *= 2) {
		struct diff_run *b = runs_batched(runs, nruns, len, ncolumns);

		more = mean_correlation(b, nruns, ncolumns, large, nlarge, left);
		runs_free(b, nruns);
		if (fewest / (2 * len) < BATCHES_ENOUGH || (more <= CORRELATION_SMALL && most / len <= BATCHES_MAX))
			return len;
	}
}

/*
 * What batches that still follow each other make of a variance: (1 + r) / (1 - r), as if each depended on the one before it only.
 * r is what is typical of the side (@left), or the column's own where that is more by more than chance; and half its standard error more,
 * since an r that is too small makes an alarm, and one that is too large does not.
 */
static double persistence(const struct diff_run *batched, size_t nruns, unsigned int side, size_t ncolumns, size_t c, double left)
{
	double n, own = neighbours(batched, nruns, side, ncolumns, c, &n), r = MAX(left, 0);

	if (n >= 2 * BATCHES_MIN && (own - r) * sqrt(n) > 1.645)
		r = own;
	r = MIN(n > 0 ? r + 0.5 / sqrt(n) : r, 0.9);
	return (1 + r) / (1 - r);
}

/* ---- one column ---- */

/* @df: of a variance that is a sum of two (Welch, Satterthwaite). */
static double welch_df(double va, double dfa, double vb, double dfb)
{
	double low = va * va / dfa + vb * vb / dfb;

	return low > 0 ? (va + vb) * (va + vb) / low : dfa + dfb;
}

static double unseen_var(double rate, const struct diff_stat_opts *o)
{
	double moved = o->run_noise * rate * (o->share ? 1 - MIN(rate, 1) : 1);

	return moved * moved;
}

/*
 * A side's variance by time, or by threads where they differ more than time explains (F test at 5 %): work that
 * stays with a thread is not mixed by time. Few threads tell little of their variance: as much wider as t is.
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

static void column_finish(struct diff_column *c)
{
	double var = c->var[DIFF_BEFORE] + c->var[DIFF_AFTER];

	c->change = c->rate[DIFF_AFTER] - c->rate[DIFF_BEFORE];
	c->se = sqrt(MAX(var, 0));
	c->p = c->se > 0 ? dist_t_tails(c->change / c->se, c->df) : 1;
}

/* ---- one recording a side: permuted batches ---- */

static size_t below(uint64_t *state, size_t n)
{
	*state += 0x9e3779b97f4a7c15ull;
	return (size_t)(((unsigned __int128)hash_u64(*state) * n) >> 64);
}

static double largest_t(const struct sums *a, const struct sums *b, size_t ncolumns, bool share)
{
	double max = 0;

	for (size_t c = 0; c < ncolumns; c++) {
		double change = sums_rate(a, c) - sums_rate(b, c), pooled = pooled_rate(a, b, c);
		double var = unit_var(a, c, share, pooled) + unit_var(b, c, share, pooled);

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
 * The largest |t| of all columns when batches are dealt out to the sides at random, PERMUTATIONS times, ascending in
 * @largest. Each permutation divides by its own variance, so that sides need not be alike in anything but the rate.
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
		double pooled = pooled_rate(&s[0], &s[1], c), t;
		size_t smaller;

		for (unsigned int i = 0; i < DIFF_SIDES; i++) {
			double v = unit_var(&s[i], c, o->share, pooled) * persistence(batched, nruns, i, n, c, left[i]), unseen;

			if (o->thread_var[i])
				v = side_var(v, s[i].units - 1, o->thread_var[i][c], o->thread_df[i]);
			col->rate[i] = sums_rate(&s[i], c);
			unseen = unseen_var(col->rate[i], o);
			col->var[i] = v + unseen;
			col->unseen += unseen;
		}
		col->df = welch_df(col->var[0], s[0].units - 1, col->var[1], s[1].units - 1);
		column_finish(col);
		t = col->se > 0 ? fabs(col->change / col->se) : 0;
		smaller = BISECT(PERMUTATIONS, i, largest[i] < t);
		col->p_all = (double)(1 + PERMUTATIONS - smaller) / (1 + PERMUTATIONS);
	}
	free(s[0].x);
	free(s[1].x);
}

/* ---- Holm, for the other two ---- */

struct ranked {
	double p;
	size_t column;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p ? 1 : x->column < y->column ? -1 : 1;
}

static void holm(struct diff_stat *st, double df, double alpha)
{
	size_t n = st->ncolumns;
	struct ranked *r = xcalloc(n + 1, sizeof(*r));
	double most = 0;

	for (size_t c = 0; c < n; c++)
		r[c] = (struct ranked){ st->column[c].p, c };
	qsort(r, n, sizeof(*r), by_p);
	for (size_t i = 0; i < n; i++) {
		most = MAX(most, MIN(1, r[i].p * (double)(n - i)));
		st->column[r[i].column].p_all = most;
	}
	st->critical = dist_t_limit(alpha / (double)MAX(n, 1), df);
	free(r);
}

static void by_count(const struct diff_run *runs, size_t nruns, const struct diff_stat_opts *o, struct diff_stat *st)
{
	struct sums s[DIFF_SIDES];

	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		sums_init(&s[i], st->ncolumns);
	for (size_t i = 0; i < nruns; i++)
		sums_add_run(&s[runs[i].side], &runs[i], st->ncolumns);
	for (size_t c = 0; c < st->ncolumns; c++) {
		struct diff_column *col = &st->column[c];
		double pooled = pooled_rate(&s[0], &s[1], c);

		for (unsigned int i = 0; i < DIFF_SIDES; i++) {
			double unseen;

			col->rate[i] = sums_rate(&s[i], c);
			unseen = unseen_var(col->rate[i], o);
			col->var[i] = count_var(&s[i], c, o->share, pooled) + unseen;
			col->unseen += unseen;
		}
		col->df = INFINITY;
		column_finish(col);
	}
	holm(st, INFINITY, o->alpha);
	free(s[0].x);
	free(s[1].x);
}

/* ---- several recordings ---- */

/*
 * Variance of each side's rate as it is seen within recordings, by batches of time where there are enough. A side's rate is
 * the sum over its recordings, so theirs add up with the squares of their part of the divisor.
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
			double pooled = pooled_rate(&side[0], &side[1], c);

			within[c * DIFF_SIDES + batched[i].side] += part * part *
				(s.units < BATCHES_MIN ? count_var(&s, c, o->share, pooled) : longer * unit_var(&s, c, o->share, pooled));
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
 * The variance of each column's change by how recordings of one side differ from each other, with @df degrees of freedom: squares of
 * how far their rates are off their side's, weighted as the side's rate weights them.
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
 * The relative noise of functions' costs from run to run that makes @between of @within: the weighted mean of
 * what is left, each column by how well it tells. @moved: variance of the change for a noise of 1.
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
 * What all columns together say of the ratios (found over expected variance), each of which is known by few recordings: they
 * scatter about a common one as an inverse gamma distribution does, whose mean and degrees of freedom come
 * from mean and variance of their logarithms (G. Smyth, 2004: moderated t).
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
		/* No more scatter than so few recordings make: one ratio for all. */
		*prior_df = PRIOR_DF_MAX;
		*typical = exp(mean);
	}
	*prior_df = MIN(*prior_df, PRIOR_DF_MAX);
}

static void by_runs(const struct diff_run *runs, const struct diff_run *batched, size_t nruns, const double left[DIFF_SIDES],
		    const struct diff_stat_opts *o, struct diff_stat *st)
{
	size_t n = st->ncolumns, count[DIFF_SIDES] = { 0 };
	double *within = xcalloc(5 * n + 1, sizeof(*within)), *between = within + 2 * n, *moved = within + 3 * n, *ratio = within + 4 * n;
	const struct diff_stat_opts whole = { .share = o->share, .run_noise = 1 };
	double df, noise2, typical;

	for (size_t i = 0; i < nruns; i++)
		count[runs[i].side]++;
	df = (double)(nruns - DIFF_SIDES);
	within_runs(batched, nruns, left, o, st, within);
	between_runs(runs, nruns, st, df, count, between);
	for (size_t c = 0; c < n; c++)
		for (unsigned int i = 0; i < DIFF_SIDES; i++)
			moved[c] += unseen_var(st->column[c].rate[i], &whole) / (double)count[i];
	st->run_noise = fit_noise(between, within, moved, n);
	noise2 = st->run_noise * st->run_noise;
	for (size_t c = 0; c < n; c++) {
		double expected = within[2 * c] + within[2 * c + 1] + noise2 * moved[c];

		ratio[c] = expected > 0 ? between[c] / expected : 1;
	}
	fit_prior(ratio, n, df, &typical, &st->prior_df);
	for (size_t c = 0; c < n; c++) {
		struct diff_column *col = &st->column[c];
		double f = (st->prior_df * typical + df * ratio[c]) / (st->prior_df + df);

		for (unsigned int i = 0; i < DIFF_SIDES; i++) {
			double seen = within[DIFF_SIDES * c + i];

			col->var[i] = MAX(f * (seen + noise2 * unseen_var(col->rate[i], &whole) / (double)count[i]), seen);
		}
		col->df = df + st->prior_df;
		column_finish(col);
	}
	holm(st, df + st->prior_df, o->alpha);
	for (unsigned int i = 0; i < DIFF_SIDES; i++)
		st->units[i] = count[i];
	free(within);
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
	if (fewest_blocks(runs, nruns) >= BATCHES_MIN)
		st->batch = choose_batch(runs, nruns, ncolumns, o->share, st->correlation);
	batched = runs_batched(runs, nruns, st->batch, ncolumns);
	if (nruns > DIFF_SIDES) {
		st->method = DIFF_BY_RUNS;
		by_runs(runs, batched, nruns, st->correlation, o, st);
	} else if (fewest_blocks(batched, nruns) >= BATCHES_MIN) {
		st->method = DIFF_BY_TIME;
		by_time(batched, nruns, st->correlation, o, st);
	} else {
		st->method = DIFF_BY_COUNT;
		by_count(runs, nruns, o, st);
	}
	runs_free(batched, nruns);
}

void diff_stat_fini(struct diff_stat *st)
{
	free(st->column);
	memset(st, 0, sizeof(*st));
}

double diff_stat_detectable(const struct diff_stat *st, const struct diff_column *c)
{
	return (st->critical + POWER_80) * c->se;
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
	/* That of the normal distribution's absolute values. */
	return median / 0.6745;
}
