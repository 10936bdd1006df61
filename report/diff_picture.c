/* Both sides of a comparison as one flame graph (diff_tree.h). */
#include <math.h>
#include <stdlib.h>

#include "calltree.h"
#include "diff_tree.h"
#include "intern.h"
#include "profile.h"
#include "svg.h"
#include "util.h"
#include "xalloc.h"

static const uint8_t hues[PROFILE_KINDS] = {
	[PROFILE_USER] = HUE_USER, [PROFILE_KERNEL] = HUE_KERNEL, [PROFILE_JIT] = HUE_JIT,
	[PROFILE_INLINED] = HUE_INLINED, [PROFILE_LEADING] = HUE_LEADING,
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* How much larger variances are than independent samples would make them: the median of all columns. */
static double typical_inflation(const struct diff *d)
{
	double *ratio = xcalloc(d->stat.ncolumns + 1, sizeof(*ratio)), median;
	size_t n = 0;

	for (size_t c = 0; c < d->stat.ncolumns; c++) {
		const struct diff_column *col = &d->stat.column[c];
		double counts = 0;

		for (unsigned int s = 0; s < DIFF_SIDES; s++) {
			double share = d->weight[s] > 0 ? col->rate[s] * d->divisor[s] / d->weight[s] : 0;

			/* How many there are of all is fixed for shares, and itself a matter of chance for amounts. */
			if (d->opts.per == DIFF_PER_TOTAL)
				share *= 1 - MIN(share, 1);
			counts += d->samples[s] > 0 ? share / d->samples[s] * pow(d->weight[s] / d->divisor[s], 2) : 0;
		}
		if (counts > 0)
			ratio[n++] = col->se * col->se / counts;
	}
	qsort(ratio, n, sizeof(*ratio), ascending);
	median = n ? ratio[n / 2] : 1;
	free(ratio);
	return MAX(median, 1);
}

/* As is_sure(), of amounts: counts vary as Poisson's do, and a sample stands for all[s] / samples[s]. */
static bool is_sure_amount(const struct diff *d, const double total[DIFF_SIDES], const double all[DIFF_SIDES], double inflation)
{
	double each = 0, samples = 0, seen = 1;

	for (unsigned int s = 0; s < DIFF_SIDES; s++) {
		double one = d->samples[s] > 0 ? all[s] / d->samples[s] : 0;

		if (!(one > 0))
			return false;
		each += one;
		seen += total[s] / one;
		samples += 1 / one;
	}
	/* All in weights: one sample more, so that what nobody has seen varies, too. */
	return fabs(total[1] - total[0]) > d->stat.critical * sqrt(seen / samples * each * inflation);
}

/*
 * Is a node's change more than chance? Nodes have no intervals of their own: theirs is what independent samples would have,
 * made as much wider as those of functions are, and the limit is that of all functions.
 */
static bool is_sure(const struct diff *d, const double total[DIFF_SIDES], const double all[DIFF_SIDES], double inflation)
{
	double share[DIFF_SIDES], pooled, var = 0;

	if (d->stat.method == DIFF_BY_COUNT)
		return false;
	if (d->opts.per != DIFF_PER_TOTAL)
		return is_sure_amount(d, total, all, inflation);
	for (unsigned int s = 0; s < DIFF_SIDES; s++)
		share[s] = all[s] > 0 ? total[s] / all[s] : 0;
	pooled = (share[0] * d->samples[0] + share[1] * d->samples[1] + 1) / (d->samples[0] + d->samples[1] + 2);
	for (unsigned int s = 0; s < DIFF_SIDES; s++)
		var += d->samples[s] > 0 ? pooled * (1 - MIN(pooled, 1)) / d->samples[s] : 0;
	return var > 0 && fabs(share[1] - share[0]) > d->stat.critical * sqrt(var * inflation);
}

/* Siblings' counts are of both sides, as whole numbers: samples may be few, and scaled ones are fractions. */
#define PARTS 1e6

void diff_write_svg(const struct diff_tree *dt, const struct diff *d, const char *title, const char *subtitle, FILE *to)
{
	const struct profile *p = dt->profile;
	struct calltree *t = calltree_new();
	uint32_t *node = xcalloc(p->nnodes + 1, sizeof(*node));
	double inflation = typical_inflation(d), all = dt->total[0][0] + dt->total[0][1];
	/* Shares are of each side's whole; amounts, brought to one scale, are all of what there is after. */
	double whole[DIFF_SIDES] = { dt->total[0][0], dt->total[0][1] };
	struct svg_change *changes;
	struct svg_opts o = { .title = title ? title : "Before and after", .subtitle = subtitle, .unit = "parts in a million", .width = 1200,
			      .min_width = 0.1 };

	if (d->opts.per != DIFF_PER_TOTAL)
		whole[0] = whole[1] = whole[1] > 0 ? whole[1] : whole[0];
	for (uint32_t i = 1; i < p->nnodes; i++) {
		const struct profile_frame *f = &p->frames[p->nodes[i].frame];

		node[i] = calltree_child(t, node[p->nodes[i].parent], intern_add(t->names, profile_text(p, f->name)), hues[f->kind]);
	}
	changes = xcalloc(t->n, sizeof(*changes));
	for (uint32_t i = 0; i < p->nnodes; i++) {
		calltree_count(t, node[i], (uint64_t)llround(PARTS * (dt->self[i][0] + dt->self[i][1]) / (all > 0 ? all : 1)));
		changes[node[i]] = (struct svg_change){ whole[0] > 0 ? dt->total[i][0] / whole[0] : 0,
							whole[1] > 0 ? dt->total[i][1] / whole[1] : 0,
							is_sure(d, dt->total[i], dt->total[0], inflation) };
	}
	calltree_sum(t);
	o.changes = changes;
	svg_write(t, &o, to);
	free(changes);
	free(node);
	calltree_free(t);
}
