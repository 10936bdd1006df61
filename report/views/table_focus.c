/* Callers and callees of a function (table.h). */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "views/calltree.h"
#include "views/table.h"

/* Counts for a group of frames. */
struct beside {
	uint64_t count;
	uint32_t on_path;	/* occurrences on the walk's path, next to the function */
};

struct focus {
	const struct profile *p;
	const struct groups *gs;
	const struct calltree *t;
	bool *match;		/* by group */
	struct beside *callers, *callees;	/* with an extra entry at the end: no caller, no
						 * callee */
	uint32_t on_path;	/* occurrences of the function */
	struct table_focus *out;
};

static const char *group_name(const struct profile *p, const struct groups *gs, uint32_t group)
{
	return profile_text(p, p->frames[gs->frame_of[group]].name);
}

/* Returns the number of groups that match. */
static uint32_t find(struct focus *f, const char *pattern)
{
	uint32_t n = 0;

	for (int glob = 0; glob < 2 && !n; glob++) {
		for (uint32_t i = 0; i < f->gs->nframes; i++) {
			const char *name = group_name(f->p, f->gs, i);

			f->match[i] = glob ? !fnmatch(pattern, name, 0) : !strcmp(pattern, name);
			n += f->match[i];
		}
	}
	return n;
}

/* Counts the samples through the node unless an outer frame already did. */
static void enter(struct beside *b, uint64_t samples)
{
	if (!b->on_path++)
		b->count += samples;
}

/* Enters or leaves (@in false) a node of the walk. */
static void visit(struct focus *f, uint32_t at, bool in)
{
	const struct calltree_node *nd = &f->t->nodes[at], *up = &f->t->nodes[nd->parent];
	bool rooted = up->hue == HUE_LEADING;
	struct beside *caller, *callee;

	if (nd->hue == HUE_LEADING)
		return;
	caller = f->match[nd->name] ? &f->callers[rooted ? f->gs->nframes : up->name] : NULL;
	callee = !rooted && f->match[up->name] ? &f->callees[nd->name] : NULL;
	if (!in) {
		if (caller)
			caller->on_path--;
		if (callee)
			callee->on_path--;
		f->on_path -= f->match[nd->name];
		return;
	}
	if (caller) {
		enter(caller, nd->total);
		f->out->self += nd->self;
		if (!f->on_path++)
			f->out->total += nd->total;
	}
	if (callee)
		enter(callee, nd->total);
}

static void walk(struct focus *f)
{
	const struct calltree_node *nodes = f->t->nodes;
	uint32_t at = 0;

	for (;;) {
		if (nodes[at].child) {
			at = nodes[at].child;
		} else {
			while (at && !nodes[at].next) {
				visit(f, at, false);
				at = nodes[at].parent;
			}
			if (!at)
				return;
			visit(f, at, false);
			at = nodes[at].next;
		}
		visit(f, at, true);
	}
}

struct row {
	uint32_t group;		/* nframes: no function */
	uint64_t count;
};

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct focus *f = ctx;
	const struct row *a = pa, *b = pb;
	int c;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->group == f->gs->nframes || b->group == f->gs->nframes)
		return a->group == f->gs->nframes ? 1 : -1;
	c = strcmp(group_name(f->p, f->gs, a->group), group_name(f->p, f->gs, b->group));
	return c ? c : a->group < b->group ? -1 : 1;
}

/* @none: shown for a missing function. */
static void make_grid(const struct focus *f, const struct table_opts *o, const struct beside *list, const char *none,
		      struct grid *g)
{
	struct row *rows = xcalloc((size_t)f->gs->nframes + 1, sizeof(*rows));
	size_t n = 0;

	for (uint32_t i = 0; i <= f->gs->nframes; i++)
		if (list[i].count)
			rows[n++] = (struct row){ i, list[i].count };
	if (n)
		qsort_r(rows, n, sizeof(*rows), compare, (void *)f);
	*g = (struct grid){ .whole = f->out->total };
	grid_column(g, "Share", "share", GRID_PERCENT);
	grid_column(g, o->period ? "Period" : o->waits ? "Waits" : "Samples", o->period ? "period" : "samples", GRID_COUNT);
	grid_column(g, "Symbol", "symbol", GRID_SYMBOL);
	for (size_t i = 0; i < n; i++) {
		bool is_none = rows[i].group == f->gs->nframes;
		struct grid_cell *cells;

		if ((o->limit && g->nrows >= o->limit) ||
		    100.0 * (double)rows[i].count < o->percent_limit * (double)f->out->all) {
			f->out->hidden++;
			continue;
		}
		cells = grid_row(g);
		cells[0].n = cells[1].n = rows[i].count;
		cells[2].text = is_none ? none : group_name(f->p, f->gs, rows[i].group);
		cells[2].n = is_none ? PROFILE_LEADING : f->p->frames[f->gs->frame_of[rows[i].group]].kind;
	}
	free(rows);
}

int table_focus(const struct profile *p, const struct table_opts *o, const char *pattern, struct table_focus *out)
{
	static const struct sortkeys by_name = { .keys = { SORT_SYMBOL }, .n = 1 };
	struct focus f = { .p = p, .out = out };
	struct groups gs;
	struct calltree *t;

	*out = (struct table_focus){ 0 };
	groups_init(&gs, &by_name, p);
	f.gs = &gs;
	f.match = xcalloc((size_t)gs.nframes + 1, sizeof(*f.match));
	out->functions = find(&f, pattern);
	if (!out->functions) {
		pr_err("no function is named '%s'; try a glob such as '*%s*'", pattern, pattern);
		free(f.match);
		groups_fini(&gs);
		return -ENOENT;
	}
	f.callers = xcalloc((size_t)gs.nframes + 1, sizeof(*f.callers));
	f.callees = xcalloc((size_t)gs.nframes + 1, sizeof(*f.callees));
	f.t = t = calltree_of_groups(p, gs.threads, gs.frames, o->period);
	out->all = t->nodes[0].total;
	walk(&f);
	f.callees[gs.nframes].count = out->self;
	make_grid(&f, o, f.callers, "(begins here)", &out->callers);
	make_grid(&f, o, f.callees, "(ends here)", &out->callees);
	calltree_free(t);
	free(f.match);
	free(f.callers);
	free(f.callees);
	groups_fini(&gs);
	return 0;
}

void table_focus_fini(struct table_focus *f)
{
	grid_fini(&f->callers);
	grid_fini(&f->callees);
}
