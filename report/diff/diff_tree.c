#include "diff/diff_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "diff/diff_side.h"
#include "input/reshape.h"
#include "profile/folded_frame.h"
#include "profile/profile.h"

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
	char *text;
	uint64_t count[DIFF_SIDES];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static char *stack_text(const struct diff_tree *t, uint32_t node, uint32_t **path, size_t *cap)
{
	const struct profile *p = t->profile;
	struct strbuf sb = STRBUF_INIT;
	const struct profile_frame *f;
	size_t n = 0;

	for (; node; node = p->nodes[node].parent) {
		XGROW(*path, n, *cap);
		(*path)[n++] = node;
	}
	while (n-- > 0) {
		if (sb.len)
			strbuf_addc(&sb, ';');
		f = &p->frames[p->nodes[(*path)[n]].frame];
		folded_add_name(&sb, profile_text(p, f->name));
		if (t->kernel_apart && f->kind == PROFILE_KERNEL)
			folded_add_marks(&sb, PROFILE_KERNEL, false);
	}
	if (folded_ends_in_count(sb.s ? sb.s : "", sb.len))
		folded_guard_count(&sb);
	if (!sb.len)
		strbuf_adds(&sb, "[no stack]");
	return sb.s;
}

void diff_write_folded(const struct diff_tree *t, FILE *to)
{
	struct line *lines = NULL;
	uint32_t *path = NULL;
	size_t n = 0, cap = 0, path_cap = 0;

	for (uint32_t i = 0; i < t->profile->nnodes; i++) {
		uint64_t before = (uint64_t)llround(t->self[i][DIFF_BEFORE]), after = (uint64_t)llround(t->self[i][DIFF_AFTER]);

		if (!before && !after)
			continue;
		XGROW(lines, n, cap);
		lines[n++] = (struct line){ stack_text(t, i, &path, &path_cap), { before, after } };
	}
	if (n)
		qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		/* Functions that differ only in what the text does not show. */
		while (i + 1 < n && !strcmp(lines[i].text, lines[i + 1].text)) {
			lines[i + 1].count[DIFF_BEFORE] += lines[i].count[DIFF_BEFORE];
			lines[i + 1].count[DIFF_AFTER] += lines[i].count[DIFF_AFTER];
			free(lines[i++].text);
		}
		fprintf(to, "%s %llu %llu\n", lines[i].text, (unsigned long long)lines[i].count[DIFF_BEFORE],
			(unsigned long long)lines[i].count[DIFF_AFTER]);
		free(lines[i].text);
	}
	free(lines);
	free(path);
}
