/*
 * Tables of a profile as grids: the flat table (perf's flat report), callers and callees of a
 * function, the call tree.
 */
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
	bool children;		/* show and sort by totals, which include callees */
	bool period;		/* count periods; with several events see profile_event.by_period */
	bool waits;		/* the only event's counts are of waits, not of samples */
	bool mixed;		/* the tree has several events, and not all of them count samples */
	uint32_t events_max;	/* that have columns; 0: all */
	uint64_t limit;		/* rows; 0: all */
	double percent_limit;	/* of all samples: leave out rows below this */
};

/*
 * One row per combination of keys that has samples: the share of samples that pass through it (each
 * counted once, even if it occurs several times in the stack), the share that end in it, and their
 * number. With several events, each has these columns, with a unit of its own
 * (profile_event.by_period), and the first one decides on the order. Rows of events without columns
 * are left out. Free @g with grid_fini() before @gs with groups_fini(). Returns the number of other
 * rows left out.
 */
uint64_t table_flat(const struct profile *p, const struct table_opts *o, struct groups *gs, struct grid *g);

/* A function with its callers and callees. */
struct table_focus {
	uint64_t all, total, self;	/* samples in the profile, through the function, in it */
	uint64_t hidden;		/* rows left out */
	uint32_t functions;		/* number of matching functions */
	struct grid callers, callees;	/* .whole is @total */
};

/*
 * @pattern: a name, or a glob(7) if no function has exactly that name. A sample counts once for
 * each caller and once for each callee. The function itself stands in for a missing callee (a
 * sample that ends in it) and a missing caller (a stack that begins with it). 0, or -ENOENT after a
 * message if nothing matches. Free with table_focus_fini(); its texts belong to @p.
 */
int table_focus(const struct profile *p, const struct table_opts *o, const char *pattern, struct table_focus *f);
void table_focus_fini(struct table_focus *f);

/*
 * The call tree from the root, as rows with their depth or as text. Parts below the limit are
 * folded. Valid as long as @t.
 */
void table_tree(const struct calltree *t, const struct table_opts *o, struct grid *g);
void table_tree_text(const struct calltree *t, const struct table_opts *o, bool color, FILE *to);

#endif
