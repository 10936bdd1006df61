#include "diff/diff_page.h"

#include <math.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/xalloc.h"
#include "diff/diff_side.h"
#include "grid/distributions.h"
#include "pictures/html.h"
#include "profile/profile.h"

static struct html_verdict verdict_of(const struct diff *d, const struct diff_row *r, unsigned int value, double all)
{
	const struct diff_column *c = diff_column(d, r, value);
	double half;

	if (!c)
		return (struct html_verdict){ .tested = false };
	half = dist_t_limit(0.05, c->df) * c->se;
	return (struct html_verdict){
		.tested = true,
		/* Amounts per second or unit become shares of the total after. */
		.low = (c->change - half) / all,
		.high = (c->change + half) / all,
		.p = d->stat.method == DIFF_BY_COUNT ? NAN : c->p_all,
		.significant = diff_significant(d, r, value),
	};
}

/*
 * Returns what was found for each function with enough samples, and for everything together. Names
 * belong to @d.
 */
static struct html_change *changes_of(const struct diff *d, size_t *n)
{
	struct html_change *changes = xcalloc(d->nrows, sizeof(*changes));
	double all = d->divisor[DIFF_AFTER] > 0 && d->weight[DIFF_AFTER] > 0 ? d->weight[DIFF_AFTER] / d->divisor[DIFF_AFTER] : 1;

	*n = 0;
	for (size_t i = 0; i < d->nrows; i++) {
		struct html_change c = {
			.function = i ? intern_str(d->names, d->row[i].name) : "",
			.kernel = i && d->kernel_apart && d->row[i].kind == PROFILE_KERNEL,
			.self = verdict_of(d, &d->row[i], DIFF_SELF, all),
			.total = verdict_of(d, &d->row[i], DIFF_TOTAL, all),
		};

		if (c.self.tested || c.total.tested)
			changes[(*n)++] = c;
	}
	return changes;
}

void diff_write_html(const struct diff_input *in, size_t n, const struct diff *d, const char *title, FILE *to)
{
	struct profile *before = diff_side(in, n, DIFF_BEFORE, &d->opts), *after = diff_side(in, n, DIFF_AFTER, &d->opts);
	struct html_opts o = { .title = title, .period = d->opts.period };
	struct html_change *changes;

	changes = changes_of(d, &o.nchanges);
	o.changes = changes;
	o.kernel_apart = d->kernel_apart;
	o.scale_a = d->divisor[DIFF_BEFORE] > 0 ? d->divisor[DIFF_AFTER] / d->divisor[DIFF_BEFORE] : 1;
	o.scale_b = 1;
	o.amounts = d->opts.per != DIFF_PER_TOTAL;
	html_write(before, after, &o, to);
	free(changes);
	profile_free(before);
	profile_free(after);
}
