/*
 * Blocks of time: sums over them, their variance, and how many of them form a batch that is
 * independent of the last one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_stat_priv.h"

enum {
	BATCHES_ENOUGH = 10,	/* batches are not lengthened below this number */
	BATCHES_MAX = 64,	/* more do not improve a variance, and cost time */
	LARGE_COLUMNS = 32,	/* their autocorrelation decides the length of a batch */
};
#define CORRELATION_SMALL 0.05	/* mean correlation of neighbours */

void sums_init(struct sums *s, size_t ncolumns)
{
	memset(s, 0, sizeof(*s));
	s->x = xcalloc(3 * ncolumns + 1, sizeof(double));
	s->xx = s->x + ncolumns;
	s->xd = s->xx + ncolumns;
}

void sums_clear(struct sums *s, size_t ncolumns)
{
	double *x = s->x, *xx = s->xx, *xd = s->xd;

	*s = (struct sums){ .x = x, .xx = xx, .xd = xd };
	memset(x, 0, 3 * ncolumns * sizeof(double));
}

void sums_add(struct sums *s, const struct diff_run *r, size_t block, size_t ncolumns)
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

void sums_add_run(struct sums *s, const struct diff_run *r, size_t ncolumns)
{
	for (size_t b = 0; b < r->nblocks; b++)
		sums_add(s, r, b, ncolumns);
}

double sums_rate(const struct sums *s, size_t c)
{
	return s->d > 0 ? s->x[c] / s->d : 0;
}

double sums_pooled_rate(const struct sums *a, const struct sums *b, size_t c)
{
	double n = a->samples + b->samples;

	return n > 0 ? (sums_rate(a, c) * a->samples + sums_rate(b, c) * b->samples) / n : 0;
}

double sums_count_var(const struct sums *s, size_t c, bool share, double pooled)
{
	double w, k, var;

	if (!(s->samples > 0 && s->d > 0 && s->weight > 0))
		return 0;
	w = s->weight / s->samples;
	k = MAX(s->x[c], pooled * s->d) / w + 1;
	var = k * (w / s->d) * (w / s->d);
	return share ? var * MAX(1 - k / (s->samples + 2), 1 / (s->samples + 2)) : var;
}

double sums_effective(const struct sums *s)
{
	return s->dd > 0 ? MAX(s->d * s->d / s->dd, 1.5) : MAX(s->units, 1.5);
}

double sums_unit_var(const struct sums *s, size_t c, bool share, double pooled)
{
	double p = sums_rate(s, c), floor = sums_count_var(s, c, share, pooled), v;

	if (s->units < 2 || !(s->d > 0))
		return floor;
	v = (s->xx[c] - 2 * p * s->xd[c] + p * p * s->dd) / (1 - 1 / sums_effective(s)) / (s->d * s->d);
	return MAX(v, floor);
}

/* ---- batches ---- */

/*
 * Merges every @len blocks of @r into one; a short rest joins the last. The caller frees its
 * divisor.
 */
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

void batches_free(struct diff_run *runs, size_t nruns)
{
	for (size_t i = 0; runs && i < nruns; i++)
		free(runs[i].divisor);
	free(runs);
}

struct diff_run *batches_of(const struct diff_run *runs, size_t nruns, size_t len, size_t ncolumns)
{
	struct diff_run *out = xcalloc(nruns + 1, sizeof(*out));

	for (size_t i = 0; i < nruns; i++)
		out[i] = run_batched(&runs[i], len, ncolumns);
	return out;
}

/*
 * Correlation between neighbours in time of column @c's residuals, over all runs of @side. Corrects
 * the bias (1 + 3 r) / n from estimating the mean from few units (M. Kendall, 1954). *@n: number of
 * units.
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

/*
 * The columns that vary most; for shares, by p (1 - p): a column with all or nothing does not vary.
 */
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

/*
 * The mean neighbour correlation of the larger columns on the side where it is higher. @each: per
 * side.
 */
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

size_t batches_fewest(const struct diff_run *runs, size_t nruns)
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
 * Makes batches as short as the correlation of neighbours allows. Doubles their length until the
 * correlation is small or too few batches would remain. batches_persistence() enlarges variances
 * for what remains.
 */
size_t batches_choose(const struct diff_run *runs, size_t nruns, size_t ncolumns, bool share, double left[DIFF_SIDES])
{
	size_t len = 1, nlarge, fewest = batches_fewest(runs, nruns), most = most_blocks(runs, nruns);
	struct large large[LARGE_COLUMNS];
	double more;

	nlarge = large_columns(runs, nruns, ncolumns, share, large);
	for (;; len *= 2) {
		struct diff_run *b = batches_of(runs, nruns, len, ncolumns);

		more = mean_correlation(b, nruns, ncolumns, large, nlarge, left);
		batches_free(b, nruns);
		if (fewest / (2 * len) < BATCHES_ENOUGH || (more <= CORRELATION_SMALL && most / len <= BATCHES_MAX))
			return len;
	}
}

/*
 * Factor on the variance of a mean over batches that are still correlated, as if each depended only
 * on the one before. r is the larger of the side's typical value (@left) and the column's own,
 * since one function may remember longer than others. Half its standard error is added, because too
 * small an r causes false alarms and too large an r does not. Correlated batches also stay close to
 * their own mean, so their variance looks too small; the factor corrects that, too.
 */
double batches_persistence(const struct diff_run *batched, size_t nruns, unsigned int side, size_t ncolumns, size_t c, double left)
{
	double n, own = neighbours(batched, nruns, side, ncolumns, c, &n), r, mean;

	if (!(n >= BATCHES_MIN))
		return 1;
	r = MAX(left, n >= 2 * BATCHES_MIN ? own : 0);
	r = MIN(MAX(r, 0) + 0.5 / sqrt(n), 0.9);
	/* The variance of the mean of n such batches, relative to that of one. */
	mean = ((1 + r) / (1 - r) - 2 * r * (1 - pow(r, n)) / (n * (1 - r) * (1 - r))) / n;
	return (n - 1) * mean / (1 - mean);
}
