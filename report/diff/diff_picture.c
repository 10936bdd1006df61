/* Both sides of a comparison as one flame graph (diff_tree.h). */
#include <math.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_tree.h"
#include "pictures/svg.h"
#include "profile/profile.h"
#include "views/calltree.h"

static const uint8_t hues[PROFILE_KINDS] = {
	[PROFILE_USER] = HUE_USER, [PROFILE_KERNEL] = HUE_KERNEL, [PROFILE_JIT] = HUE_JIT,
	[PROFILE_INLINED] = HUE_INLINED, [PROFILE_LEADING] = HUE_LEADING,
};

/*
 * The picture counts both sides together in whole numbers. Samples may be few and scaled ones
 * fractional, so counts are parts of this whole.
 */
#define PARTS 1e6

void diff_write_svg(const struct diff_tree *dt, const struct diff *d, const char *title, const char *subtitle, FILE *to)
{
	const struct profile *p = dt->profile;
	struct calltree *t = calltree_new();
	uint32_t *node = xcalloc(p->nnodes + 1, sizeof(*node));
	double all = dt->total[0][0] + dt->total[0][1];
	/*
	 * Shares are of each side's total. Amounts, brought to one scale, are of the total after.
	 */
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
		const struct profile_frame *f = &p->frames[p->nodes[i].frame];
		const char *name = i ? profile_text(p, f->name) : "";

		calltree_count(t, node[i], (uint64_t)llround(PARTS * (dt->self[i][0] + dt->self[i][1]) / (all > 0 ? all : 1)));
		changes[node[i]] = (struct svg_change){ whole[0] > 0 ? dt->total[i][0] / whole[0] : 0,
							whole[1] > 0 ? dt->total[i][1] / whole[1] : 0,
							f->kind != PROFILE_LEADING &&
								diff_frame_significant(d, name, f->kind == PROFILE_KERNEL,
										       !t->nodes[node[i]].child) };
	}
	calltree_sum(t);
	o.changes = changes;
	svg_write(t, &o, to);
	free(changes);
	free(node);
	calltree_free(t);
}
