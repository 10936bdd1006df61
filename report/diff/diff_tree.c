#include "diff/diff_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_side.h"
#include "input/reshape.h"
#include "profile/fair_level.h"
#include "profile/profile.h"
#include "profile/profile_bound.h"
#include "views/name_tree.h"

struct diff_tree *diff_tree_new(const struct diff_input *in, size_t n, const struct diff *d)
{
	struct diff_tree *t = xcalloc(1, sizeof(*t));
	uint32_t **nodes = xcalloc(n, sizeof(*nodes));
	double scale = d->divisor[DIFF_BEFORE] > 0 ? d->divisor[DIFF_AFTER] / d->divisor[DIFF_BEFORE] : 1;

	t->profile = profile_new();
	t->kernel_apart = d->kernel_apart;
	for (size_t i = 0; i < n; i++) {
		uint32_t *frames = diff_side_frames(t->profile, in[i].profile, &d->opts);

		nodes[i] = reshape_nodes(t->profile, in[i].profile, frames);
		free(frames);
	}
	t->self = xcalloc(t->profile->nnodes, sizeof(*t->self));
	t->total = xcalloc(t->profile->nnodes, sizeof(*t->total));
	for (size_t i = 0; i < n; i++) {
		const struct profile *p = in[i].profile;

		for (size_t k = 0; k < p->ncounts; k++) {
			const struct profile_count *c = &p->counts[k];
			double w = (double)profile_weight(c, d->opts.period);

			t->self[nodes[i][c->node]][in[i].side] += in[i].side == DIFF_BEFORE ? w * scale : w;
		}
		free(nodes[i]);
	}
	free(nodes);
	for (uint32_t i = t->profile->nnodes; i-- > 0;)
		for (unsigned int s = 0; s < DIFF_SIDES; s++) {
			t->total[i][s] += t->self[i][s];
			if (i)
				t->total[t->profile->nodes[i].parent][s] += t->total[i][s];
		}
	return t;
}

void diff_tree_free(struct diff_tree *t)
{
	if (!t)
		return;
	profile_free(t->profile);
	free(t->self);
	free(t->total);
	free(t);
}

/* ---- folded ---- */

struct line {
	uint32_t node;		/* of the names */
	uint64_t count[DIFF_SIDES];
};

static int by_node(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_text(const void *a, const void *b, void *ctx)
{
	return name_tree_compare(ctx, ((const struct line *)a)->node, ((const struct line *)b)->node);
}

/* All stacks that have counts, in the order of their text. Owned by the caller. */
static struct line *make_lines(const struct diff_tree *t, struct name_tree *names, size_t *n)
{
	struct line *lines = NULL;
	size_t cap = 0, kept = 0;

	*n = 0;
	for (uint32_t i = 0; i < t->profile->nnodes; i++) {
		uint64_t before = (uint64_t)llround(t->self[i][DIFF_BEFORE]), after = (uint64_t)llround(t->self[i][DIFF_AFTER]);

		if (!before && !after)
			continue;
		XGROW(lines, *n, cap);
		lines[(*n)++] = (struct line){ names->of[i], { before, after } };
	}
	if (!*n)
		return NULL;
	qsort(lines, *n, sizeof(*lines), by_node);
	/* Functions that differ only in what the text does not show. */
	for (size_t i = 1; i < *n; i++) {
		if (lines[i].node != lines[kept].node) {
			lines[++kept] = lines[i];
			continue;
		}
		for (unsigned int s = 0; s < DIFF_SIDES; s++)
			lines[kept].count[s] += lines[i].count[s];
	}
	*n = kept + 1;
	qsort_r(lines, *n, sizeof(*lines), by_text, names);
	return lines;
}

void diff_write_folded(const struct diff_tree *t, FILE *to)
{
	const bool marks[PROFILE_KINDS] = { [PROFILE_KERNEL] = t->kernel_apart };
	struct strbuf text = STRBUF_INIT;
	struct name_tree names;
	struct fair_item *items;
	uint64_t *levels, cut = 0;
	struct line *lines;
	size_t n;

	name_tree_init(&names, t->profile, "[no stack]", marks, true, false);
	lines = make_lines(t, &names, &n);
	items = xcalloc(n + 1, sizeof(*items));
	for (size_t i = 0; i < n; i++)
		items[i].to = names.nodes[lines[i].node].bytes;
	levels = fair_levels(items, n, 1, FAIR_FOLDED_BYTES);
	for (size_t i = 0; i < n; i++) {
		cut += name_tree_text(&names, lines[i].node, levels ? levels[0] : FAIR_WHOLE, &text);
		fprintf(to, "%s %llu %llu\n", text.s, (unsigned long long)lines[i].count[DIFF_BEFORE],
			(unsigned long long)lines[i].count[DIFF_AFTER]);
	}
	if (cut)
		pr_warn("%" PRIu64 " stack%s " BOUND_LEFT_OUT " in the middle, because all together are too long", cut,
			plural_of(cut, " has", "s have"));
	name_tree_fini(&names);
	strbuf_fini(&text);
	free(levels);
	free(items);
	free(lines);
}
