#include "views/table_chains.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/fair_level.h"
#include "profile/owners.h"
#include "profile/wait_frames.h"
#include "views/name_tree.h"

/* A stack of names in a row of the table. */
struct chain {
	uint32_t thread, frame;		/* groups */
	uint32_t node;			/* of the profile, then in chains.names */
	uint64_t samples, period;
};

struct row {
	size_t first, n;		/* in chains.list */
	uint64_t samples, weight;
};

struct chains {
	const struct chains_opts *o;
	struct chain *list;		/* owned; by row and text, then by value in each row */
	size_t n;
	struct row *rows;		/* owned; as in the grid */
	size_t nrows, cap;
	uint64_t whole;			/* 100 %: samples or period */
	bool period;
	struct name_tree names;
	struct owners owners;
	uint64_t *levels;		/* owned; by owner: bytes that its lines may have; NULL: any */
	const struct groups *gs;
	struct strbuf line;
};

static int by_row(const void *pa, const void *pb)
{
	const struct chain *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static uint64_t weight(const struct chain *c, bool period)
{
	return period ? c->period : c->samples;
}

static int by_value(const void *pa, const void *pb, void *ctx)
{
	const struct chain *a = pa, *b = pb;
	const struct chains *cs = ctx;
	uint64_t x = weight(a, cs->period), y = weight(b, cs->period);

	return x != y ? (x < y ? 1 : -1) : name_tree_compare(&cs->names, a->node, b->node);
}

static int rows_by_weight(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1) : a->first < b->first ? -1 : a->first > b->first;
}

static int by_node(const void *pa, const void *pb)
{
	const struct chain *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Sorts by @order and merges equal chains. */
static void merge(struct chains *cs, int (*order)(const void *, const void *))
{
	size_t kept = 0;

	qsort(cs->list, cs->n, sizeof(*cs->list), order);
	for (size_t i = 0; i < cs->n; i++) {
		struct chain *last = kept ? &cs->list[kept - 1] : NULL;

		if (last && !order(last, &cs->list[i])) {
			last->samples += cs->list[i].samples;
			last->period += cs->list[i].period;
			continue;
		}
		cs->list[kept++] = cs->list[i];
	}
	cs->n = kept;
}

static void collect(struct chains *cs, const struct profile *p, const struct groups *gs)
{
	const bool marks[PROFILE_KINDS] = { false };
	struct wait_frames waits;

	wait_frames_init(&waits, p);
	cs->list = xcalloc(p->ncounts + 1, sizeof(*cs->list));
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];

		/* Samples without a stack end in no function. */
		if (!c->node && gs->nframes > 1)
			continue;
		cs->list[cs->n++] = (struct chain){
			.thread = gs->threads[c->thread], .frame = gs->frames[p->nodes[wait_frames_own(&waits, c->node)].frame],
			.node = c->node, .samples = c->samples, .period = c->period,
		};
	}
	/* Chains that differ only in time, or in what names do not show, are equal. */
	merge(cs, by_node);
	name_tree_init(&cs->names, p, "[unknown]", marks, false, cs->o->callee);
	for (size_t i = 0; i < cs->n; i++)
		cs->list[i].node = cs->names.of[cs->list[i].node];
	merge(cs, by_row);
	wait_frames_fini(&waits);
}

static void make_rows(struct chains *cs)
{
	for (size_t i = 0; i < cs->n; i++) {
		const struct chain *c = &cs->list[i];
		struct row *r;

		if (!i || c->thread != c[-1].thread || c->frame != c[-1].frame) {
			XGROW(cs->rows, cs->nrows, cs->cap);
			cs->rows[cs->nrows++] = (struct row){ .first = i };
		}
		r = &cs->rows[cs->nrows - 1];
		r->n++;
		r->samples += c->samples;
		r->weight += weight(c, cs->period);
	}
	for (size_t i = 0; i < cs->nrows; i++)
		qsort_r(cs->list + cs->rows[i].first, cs->rows[i].n, sizeof(*cs->list), by_value, cs);
	if (cs->nrows)
		qsort(cs->rows, cs->nrows, sizeof(*cs->rows), rows_by_weight);
}

static double share_of(const struct chains *cs, const struct chain *c)
{
	return cs->whole ? 100.0 * (double)weight(c, cs->period) / (double)cs->whole : 0;
}

/* The container of one of the threads that @c belongs to. */
static uint32_t owner_of(const struct chains *cs, const struct chain *c)
{
	return cs->owners.of[cs->gs->thread_of[c->thread]];
}

/* Chains of the first @n rows may be too long to be written. */
static void find_levels(struct chains *cs, size_t n)
{
	struct fair_item *items = NULL;
	size_t nitems = 0, cap = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = cs->rows[i].first; k < cs->rows[i].first + cs->rows[i].n; k++) {
			if (share_of(cs, &cs->list[k]) < cs->o->percent_limit)
				continue;
			XGROW(items, nitems, cap);
			items[nitems++] = (struct fair_item){ owner_of(cs, &cs->list[k]), 0, cs->names.nodes[cs->list[k].node].bytes };
		}
	cs->levels = fair_levels(items, nitems, cs->owners.n, FAIR_FOLDED_BYTES);
	free(items);
}

static void put_chains(void *ctx, size_t row, FILE *to)
{
	struct chains *cs = ctx;
	const struct row *r = &cs->rows[row];

	for (size_t i = r->first; i < r->first + r->n; i++) {
		const struct chain *c = &cs->list[i];
		const uint32_t owner = owner_of(cs, c);
		const double share = share_of(cs, c);

		if (share < cs->o->percent_limit)
			continue;
		cs->owners.cut[owner] += name_tree_text(&cs->names, c->node, cs->levels ? cs->levels[owner] : FAIR_WHOLE, &cs->line);
		if (cs->o->value == CHAINS_PERCENT)
			fprintf(to, "%.2f%% %s\n", share, cs->line.s);
		else
			fprintf(to, "%" PRIu64 " %s\n", cs->o->value == CHAINS_PERIOD ? c->period : c->samples, cs->line.s);
	}
	fputc('\n', to);
}

static void tell_cut(void *ctx, const char *text)
{
	(void)ctx;
	pr_warn("%s", text);
}

static void fini(struct chains *cs)
{
	name_tree_fini(&cs->names);
	owners_fini(&cs->owners);
	strbuf_fini(&cs->line);
	free(cs->levels);
	free(cs->list);
	free(cs->rows);
}

uint64_t chains_text(const struct profile *p, const struct table_opts *o, const struct chains_opts *co, char separator, bool color,
		     FILE *to)
{
	struct chains cs = { .o = co, .period = o->period && p->period };
	/*
	 * All samples of a thread are its own, so without a key of frames total and self are the
	 * same.
	 */
	bool both = o->children && !sortkeys_have(&o->sort, SORT_SYMBOL) && !sortkeys_have(&o->sort, SORT_DSO) &&
		    !sortkeys_have(&o->sort, SORT_SRCLINE);
	struct groups gs = { 0 };
	size_t shown = 0;
	uint64_t hidden;
	struct grid g;

	cs.whole = cs.period ? p->period : p->samples;
	groups_init(&gs, &o->sort, p);
	cs.gs = &gs;
	owners_init(&cs.owners, p->threads, (uint32_t)p->nthreads);
	collect(&cs, p, &gs);
	make_rows(&cs);
	g = (struct grid){ .whole = cs.whole, .after_row = put_chains, .after_ctx = &cs };
	if (both)
		grid_column(&g, "Children", "children", GRID_PERCENT);
	grid_column(&g, both ? "Self" : "Overhead", "self", GRID_PERCENT);
	if (co->samples)
		grid_column(&g, o->waits ? "Waits" : "Samples", "samples", GRID_COUNT);
	sortkeys_columns(&o->sort, &gs, &g);
	for (; shown < cs.nrows; shown++) {
		const struct row *r = &cs.rows[shown];
		struct grid_cell *cells;

		/* The remaining rows have even less. */
		if ((o->limit && shown >= o->limit) || 100.0 * (double)r->weight < o->percent_limit * (double)cs.whole)
			break;
		cells = grid_row(&g);
		if (both)
			(cells++)->n = r->weight;
		(cells++)->n = r->weight;
		if (co->samples)
			(cells++)->n = r->samples;
		sortkeys_cells(&o->sort, &gs, p, cs.list[r->first].thread, cs.list[r->first].frame, cells);
	}
	find_levels(&cs, shown);
	if (separator)
		grid_separated(&g, separator, to);
	else
		grid_text(&g, color, to);
	hidden = cs.nrows - shown;
	grid_fini(&g);
	groups_fini(&gs);
	owners_tell(&cs.owners, p, "long", tell_cut, NULL);
	fini(&cs);
	return hidden;
}
