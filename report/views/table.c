/* The flat table (table.h). */
#include "views/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "views/calltree.h"

/* What an event counted: in the group of frames itself, and through it. */
struct value {
	uint64_t self, total;
	uint64_t in_state[STATES];	/* of the one that rows are sorted by */
};

/* The columns of an event. */
struct event_columns {
	size_t first;	/* its first column */
	bool states[STATES + 1];	/* those that its stacks end with; [STATES]: none */
};

/* A group of frames in a group of threads. */
struct entry {
	uint32_t thread, frame;
	size_t values;		/* index of the first event's */
};

struct entries {
	struct entry *list;	/* owned */
	struct value *values;	/* owned; those of all events for each entry */
	size_t n, cap, values_cap, nevents;
	struct u64map index;	/* thread << 32 | frame -> index in @list */
};

/* The value of one event. */
static struct value *value_of(struct entries *es, uint32_t thread, uint32_t frame, size_t event)
{
	bool is_new;
	uint64_t *at = u64map_put(&es->index, (uint64_t)thread << 32 | frame, &is_new);

	if (is_new) {
		const size_t first = es->n * es->nevents;

		*at = es->n;
		XGROW(es->list, es->n, es->cap);
		es->list[es->n++] = (struct entry){ .thread = thread, .frame = frame, .values = first };
		while (es->values_cap < first + es->nevents)
			XGROW(es->values, es->values_cap, es->values_cap);
		memset(es->values + first, 0, es->nevents * sizeof(*es->values));
	}
	return &es->values[*at * es->nevents + event];
}

/*
 * Walks without recursion, since stacks may be a million frames deep. @t has the stacks of an event
 * that end with @state. @on_path: by group of frames.
 */
static void collect(const struct calltree *t, struct entries *es, size_t event, enum lead_state state, bool children, uint32_t *on_path)
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
			struct value *v = value_of(es, thread, nd->name, event);
			/* In a recursive function, the outermost call includes all others. */
			const uint64_t total = on_path[nd->name]++ ? 0 : nd->total;

			v->self += nd->self;
			v->total += total;
			if (state < STATES)
				v->in_state[state] += children ? total : nd->self;
		}
	}
}

struct order {
	const struct table_opts *opts;
	const struct profile *p;
	const struct groups *gs;
	const struct entries *es;
	const struct event_columns *columns;	/* by event */
};

static int compare_texts(const struct profile *p, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile_text(p, a), profile_text(p, b));
}

/* The first event decides, and the next one where it is equal. */
static int compare_values(const struct value *a, const struct value *b, size_t n, bool children)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t first[2] = { children ? a[i].total : a[i].self, children ? b[i].total : b[i].self };
		const uint64_t second[2] = { children ? a[i].self : a[i].total, children ? b[i].self : b[i].total };

		if (first[0] != first[1])
			return first[0] < first[1] ? 1 : -1;
		if (second[0] != second[1])
			return second[0] < second[1] ? 1 : -1;
	}
	return 0;
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct order *o = ctx;
	const struct entry *a = pa, *b = pb;
	const struct profile_frame *x = &o->p->frames[o->gs->frame_of[a->frame]];
	const struct profile_frame *y = &o->p->frames[o->gs->frame_of[b->frame]];
	int c = compare_values(o->es->values + a->values, o->es->values + b->values, o->es->nevents, o->opts->children);

	c = c ? c : compare_texts(o->p, x->name, y->name);
	c = c ? c : compare_texts(o->p, x->dso, y->dso);
	/* Groups have the order of the profile. */
	c = c ? c : a->thread < b->thread ? -1 : a->thread > b->thread;
	return c ? c : a->frame < b->frame ? -1 : a->frame > b->frame;
}

static void add_row(const struct order *o, struct groups *gs, const struct entry *e, struct grid *g)
{
	struct grid_cell *cells = grid_row(g);

	for (size_t i = 0; i < o->es->nevents; i++) {
		const struct value *v = &o->es->values[e->values + i];

		if (o->opts->children)
			(cells++)->n = v->total;
		(cells++)->n = v->self;
		(cells++)->n = v->self;
		for (int state = 0; state < STATES; state++)
			if (o->columns[i].states[state])
				(cells++)->n = v->in_state[state];
	}
	sortkeys_cells(&o->opts->sort, gs, o->p, e->thread, e->frame, cells);
}

/* A text that lives as long as @gs. */
static const char *kept(struct groups *gs, const char *before, const char *after)
{
	char *text = xasprintf("%s%s", before, after);
	const char *s = intern_str(gs->texts, intern_add(gs->texts, text));

	free(text);
	return s;
}

/* Columns of one event; @name: NULL if there is only one. @waits: table_opts.waits. Sets where they are in @c. */
static void add_columns(const struct table_opts *o, bool period, bool waits, const char *name, uint64_t whole, struct event_columns *c,
			struct groups *gs, struct grid *g)
{
	static const struct {
		const char *title, *key;
	} states[STATES] = {
		[STATE_RUNNING] = { "Running", "running" }, [STATE_RUNNABLE] = { "Runnable", "runnable" },
		[STATE_BLOCKED] = { "Blocked", "blocked" }, [STATE_THROTTLED] = { "Throttled", "throttled" },
	};
	struct strbuf suffix = STRBUF_INIT;

	c->first = g->ncols;
	strbuf_addf(&suffix, "%s%s", name ? ":" : "", name ? name : "");
	if (o->children)
		grid_column_of(g, "Children", kept(gs, "children", suffix.s), GRID_PERCENT, name, whole);
	grid_column_of(g, o->children ? "Self" : "Overhead", kept(gs, "self", suffix.s), GRID_PERCENT, name, whole);
	grid_column_of(g, period ? "Period" : waits ? "Waits" : "Samples", kept(gs, period ? "period" : "samples", suffix.s), GRID_COUNT, name, whole);
	for (int i = 0; i < STATES; i++)
		if (c->states[i])
			grid_column_of(g, states[i].title, kept(gs, states[i].key, suffix.s), GRID_COUNT, name, whole);
	strbuf_fini(&suffix);
}

static const char *event_name(const struct profile *p, uint32_t at, struct groups *gs)
{
	struct strbuf sb = STRBUF_INIT;
	const char *name;

	profile_event_text(p, at, &sb);
	name = kept(gs, sb.s ? sb.s : "", "");
	strbuf_fini(&sb);
	return name;
}

/* Is there a share to show, and is it large enough for some event? */
static bool is_shown(const struct order *by, const struct grid *g, const struct value *v, bool *any)
{
	const struct table_opts *o = by->opts;
	const size_t n = by->es->nevents;
	bool enough = false;

	*any = o->children;
	for (size_t i = 0; i < n; i++) {
		const uint64_t amount = o->children ? v[i].total : v[i].self, whole = g->cols[by->columns[i].first].whole;

		/* Without --children, a row without self samples shows nothing. */
		*any |= amount != 0;
		enough |= !(100.0 * (double)amount < o->percent_limit * (double)(n > 1 ? whole : g->whole)) && (n == 1 || amount);
	}
	return enough;
}

/* Adds what an event counted, and its columns. */
static void add_event(const struct profile *p, uint32_t at, const struct table_opts *o, struct groups *gs, struct entries *es,
		      struct event_columns *c, struct grid *g, uint32_t *on_path)
{
	const struct profile view = profile_view_event(p, at);
	const bool period = p->nevents ? p->events[at].by_period : o->period;
	const bool waits = p->nevents ? profile_has_waits(profile_text(p, p->events[at].name)) : o->waits;
	uint64_t whole = 0;

	calltree_states(&view, c->states);
	for (int state = 0; state <= STATES; state++) {
		struct calltree *t;

		if (!c->states[state])
			continue;
		t = calltree_of_state(&view, gs->threads, gs->frames, period, (enum lead_state)state);
		collect(t, es, at, (enum lead_state)state, o->children, on_path);
		if (__builtin_add_overflow(whole, t->nodes[0].total, &whole))
			whole = UINT64_MAX;
		calltree_free(t);
	}
	add_columns(o, period, waits, p->nevents ? event_name(p, at, gs) : NULL, p->nevents ? whole : 0, c, gs, g);
	g->whole = at ? g->whole : whole;
}

uint64_t table_flat(const struct profile *p, const struct table_opts *o, struct groups *gs, struct grid *g)
{
	const uint32_t with_columns = o->events_max ? MIN(p->nevents, o->events_max) : p->nevents;
	struct entries es = { .index = U64MAP_INIT, .nevents = MAX(with_columns, 1u) };
	struct event_columns *columns = xcalloc(es.nevents, sizeof(*columns));
	struct order order = { o, p, gs, &es, columns };
	uint32_t *on_path;
	uint64_t hidden = 0;

	groups_init(gs, &o->sort, p);
	on_path = xcalloc((size_t)gs->nframes + 1, sizeof(*on_path));
	*g = (struct grid){ 0 };
	for (uint32_t i = 0; i < es.nevents; i++)
		add_event(p, i, o, gs, &es, &columns[i], g, on_path);
	sortkeys_columns(&o->sort, gs, g);
	if (es.n)
		qsort_r(es.list, es.n, sizeof(*es.list), compare, &order);
	for (size_t i = 0; i < es.n; i++) {
		bool any, shown = is_shown(&order, g, es.values + es.list[i].values, &any);

		if (!any)
			continue;
		if ((o->limit && g->nrows >= o->limit) || !shown)
			hidden++;
		else
			add_row(&order, gs, &es.list[i], g);
	}
	free(on_path);
	free(columns);
	free(es.list);
	free(es.values);
	u64map_fini(&es.index);
	return hidden;
}
