/*
 * Single columns: whether a change is significant given its variance, alone and among all columns.
 */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_stat_priv.h"
#include "grid/distributions.h"

double column_unseen(double rate, const struct diff_stat_opts *o)
{
	double moved = o->run_noise * rate * (o->share ? 1 - MIN(rate, 1) : 1);

	return moved * moved;
}

void column_finish(struct diff_column *c)
{
	double var = c->var[DIFF_BEFORE] + c->var[DIFF_AFTER];

	c->change = c->rate[DIFF_AFTER] - c->rate[DIFF_BEFORE];
	c->se = sqrt(MAX(var, 0));
	c->p = c->se > 0 ? dist_t_tails(c->change / c->se, c->df) : 1;
}

struct ranked {
	double p;
	size_t column;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p ? 1 : x->column < y->column ? -1 : 1;
}

void columns_holm(struct diff_stat *st, double df, double alpha)
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
