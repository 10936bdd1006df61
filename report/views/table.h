/* Tables of a profile as grids: what has how much (perf's flat report), the callers and callees of a function, the call tree. */
#ifndef NSPROF_TABLE_H
#define NSPROF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grid/grid.h"
#include "profile/profile.h"
#include "views/sortkeys.h"

struct calltree;

struct table_opts {
	struct sortkeys sort;
	bool children;		/* with totals, and by them: of what a function calls, too */
	bool period;		/* count periods */
	uint64_t limit;		/* rows; 0: all */
	double percent_limit;	/* of all samples: what has less is left out */
};

/*
 * One row for each combination of keys that has samples: the share of samples that pass through it (once each, however
 * often it is in their stacks), that of those which end there, and their number. Own @g with grid_fini(), before @gs with
 * groups_fini(). How many rows were left out.
 */
uint64_t table_flat(const struct profile *p, const struct table_opts *o, struct groups *gs, struct grid *g);

/* A function and what stands beside it in the stacks. */
struct table_focus {
	uint64_t all, total, self;	/* samples in the profile, through it, in it */
	uint64_t hidden;		/* rows left out */
	uint32_t functions;		/* with names that match */
	struct grid callers, callees;	/* whole: .total */
};

/*
 * @pattern: a name, or a glob(7) when no function is called just so. A sample counts once for each of its callers, and of
 * its callees; the function itself stands for where it ends and where it begins (no caller). 0, or -ENOENT after a message
 * when there is none. Own with table_focus_fini(); its texts are of @p.
 */
int table_focus(const struct profile *p, const struct table_opts *o, const char *pattern, struct table_focus *f);
void table_focus_fini(struct table_focus *f);

/*
 * The call tree from the root, parts below the limit folded: as rows with their depth, and as text. Valid as long
 * as @t.
 */
void table_tree(const struct calltree *t, const struct table_opts *o, struct grid *g);
void table_tree_text(const struct calltree *t, const struct table_opts *o, bool color, FILE *to);

#endif
