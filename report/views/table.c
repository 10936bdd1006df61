/* The flat table (table.h). */
#include "views/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "views/calltree.h"

/* A group of frames in a group of threads. */
struct entry {
	uint32_t thread, frame;
	uint64_t self, total;
};

struct entries {
	struct entry *list;	/* owned */
	size_t n, cap;
	struct u64map index;	/* thread << 32 | frame -> index in @list */
};

static struct entry *entry_of(struct entries *es, uint32_t thread, uint32_t frame)
{
	bool is_new;
	uint64_t *at = u64map_put(&es->index, (uint64_t)thread << 32 | frame, &is_new);

	if (is_new) {
		*at = es->n;
		XGROW(es->list, es->n, es->cap);
		es->list[es->n++] = (struct entry){ .thread = thread, .frame = frame };
	}
	return &es->list[*at];
}

/*
 * Walks without recursion, since stacks may be a million frames deep. @on_path: by group of frames.
 */
static void collect(const struct calltree *t, struct entries *es, uint32_t *on_path)
{
	uint32_t at = 0, thread = 0;

	for (;;) {
		const struct calltree_node *nd;

		if (t->nodes[at].child) {
			at = t->nodes[at].child;
		} else {
			while (at && !t->nodes[at].next) {
				if (t->nodes[at].hue != HUE_LEADING)
					on_path[t->nodes[at].name]--;
				at = t->nodes[at].parent;
			}
			if (!at)
				return;
			if (t->nodes[at].hue != HUE_LEADING)
				on_path[t->nodes[at].name]--;
			at = t->nodes[at].next;
		}
		nd = &t->nodes[at];
		if (nd->hue == HUE_LEADING) {
			thread = nd->name;
		} else {
			struct entry *e = entry_of(es, thread, nd->name);

			e->self += nd->self;
			/* In a recursive function, the outermost call includes all others. */
			if (!on_path[nd->name]++)
				e->total += nd->total;
		}
	}
}

struct order {
	const struct table_opts *opts;
	const struct profile *p;
	const struct groups *gs;
};

static int compare_texts(const struct profile *p, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile_text(p, a), profile_text(p, b));
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct order *o = ctx;
	const struct entry *a = pa, *b = pb;
	uint64_t first[2] = { a->self, b->self }, second[2] = { a->total, b->total };
	const struct profile_frame *x = &o->p->frames[o->gs->frame_of[a->frame]];
	const struct profile_frame *y = &o->p->frames[o->gs->frame_of[b->frame]];
	int c;

	if (o->opts->children) {
		first[0] = a->total;
		first[1] = b->total;
		second[0] = a->self;
		second[1] = b->self;
	}
	if (first[0] != first[1])
		return first[0] < first[1] ? 1 : -1;
	if (second[0] != second[1])
		return second[0] < second[1] ? 1 : -1;
	c = compare_texts(o->p, x->name, y->name);
	c = c ? c : compare_texts(o->p, x->dso, y->dso);
	/* Groups have the order of the profile. */
	c = c ? c : a->thread < b->thread ? -1 : a->thread > b->thread;
	return c ? c : a->frame < b->frame ? -1 : a->frame > b->frame;
}

static void add_row(const struct order *o, struct groups *gs, const struct entry *e, struct grid *g)
{
	struct grid_cell *cells = grid_row(g);

	if (o->opts->children)
		(cells++)->n = e->total;
	(cells++)->n = e->self;
	(cells++)->n = e->self;
	sortkeys_cells(&o->opts->sort, gs, o->p, e->thread, e->frame, cells);
}

uint64_t table_flat(const struct profile *p, const struct table_opts *o, struct groups *gs, struct grid *g)
{
	struct order order = { o, p, gs };
	struct entries es = { .index = U64MAP_INIT };
	struct calltree *t;
	uint32_t *on_path;
	uint64_t hidden = 0;

	groups_init(gs, &o->sort, p);
	t = calltree_of_groups(p, gs->threads, gs->frames, o->period);
	on_path = xcalloc((size_t)gs->nframes + 1, sizeof(*on_path));
	collect(t, &es, on_path);
	if (es.n)
		qsort_r(es.list, es.n, sizeof(*es.list), compare, &order);

	*g = (struct grid){ .whole = t->nodes[0].total };
	if (o->children)
		grid_column(g, "Children", "children", GRID_PERCENT);
	grid_column(g, o->children ? "Self" : "Overhead", "self", GRID_PERCENT);
	grid_column(g, o->period ? "Period" : "Samples", o->period ? "period" : "samples", GRID_COUNT);
	sortkeys_columns(&o->sort, g);
	for (size_t i = 0; i < es.n; i++) {
		uint64_t n = o->children ? es.list[i].total : es.list[i].self;

		/* Without --children, a row without self samples shows nothing. */
		if (!n && !o->children)
			continue;
		if ((o->limit && g->nrows >= o->limit) || 100.0 * (double)n < o->percent_limit * (double)g->whole)
			hidden++;
		else
			add_row(&order, gs, &es.list[i], g);
	}
	calltree_free(t);
	free(on_path);
	free(es.list);
	u64map_fini(&es.index);
	return hidden;
}
