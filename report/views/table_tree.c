/* The call tree (table.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "views/calltree.h"
#include "profile/lead_frames.h"
#include "views/table.h"

#define STEP 3		/* columns of indentation per branch */
#define INDENT_MAX 120	/* deeper branches are not indented further */

static const uint8_t kinds[] = {
	[HUE_USER] = PROFILE_USER, [HUE_KERNEL] = PROFILE_KERNEL, [HUE_JIT] = PROFILE_JIT,
	[HUE_INLINED] = PROFILE_INLINED, [HUE_LEADING] = PROFILE_LEADING,
	[HUE_STATES ... HUE_STATES + STATES - 1] = PROFILE_USER,
};

/* A node on the path from the root. */
struct level {
	uint32_t *kids;		/* owned; children to show, largest first */
	uint32_t n, at;
	uint64_t folded;	/* total of the children not shown */
	uint32_t nfolded;	/* number of the children not shown */
	unsigned int indent;
};

struct tree {
	const struct calltree *t;
	const struct table_opts *opts;
	struct level *levels;	/* owned */
	size_t n, cap;
	uint64_t shown;
};

static int by_total(const void *pa, const void *pb, void *ctx)
{
	const struct calltree *t = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (t->nodes[a].total != t->nodes[b].total)
		return t->nodes[a].total < t->nodes[b].total ? 1 : -1;
	/*
	 * Siblings are numbered in the order of appearance, which is arbitrary; names give a stable
	 * order.
	 */
	return strcmp(intern_str(t->names, t->nodes[a].name), intern_str(t->names, t->nodes[b].name));
}

static void descend(struct tree *tr, uint32_t node, unsigned int indent)
{
	const struct calltree *t = tr->t;
	struct level l = { .indent = MIN(indent, (unsigned int)INDENT_MAX) };
	double least = tr->opts->percent_limit / 100 * (double)t->nodes[0].total;
	size_t cap = 0;

	for (uint32_t c = t->nodes[node].child; c; c = t->nodes[c].next) {
		if ((double)t->nodes[c].total < least || !t->nodes[c].total) {
			l.folded += t->nodes[c].total;
			l.nfolded += t->nodes[c].total != 0;
			continue;
		}
		XGROW(l.kids, l.n, cap);
		l.kids[l.n++] = c;
	}
	if (l.n > 1)
		qsort_r(l.kids, l.n, sizeof(*l.kids), by_total, (void *)t);
	XGROW(tr->levels, tr->n, tr->cap);
	tr->levels[tr->n++] = l;
}

static void ascend(struct tree *tr)
{
	free(tr->levels[--tr->n].kids);
}

/*
 * The next node, depth first; false at the end. *@up: the level it belongs to, valid until
 * descend().
 */
static bool next_node(struct tree *tr, uint32_t *node, struct level **up)
{
	while (tr->n) {
		struct level *l = &tr->levels[tr->n - 1];

		if (l->at < l->n && (!tr->opts->limit || tr->shown < tr->opts->limit)) {
			*node = l->kids[l->at++];
			*up = l;
			tr->shown++;
			return true;
		}
		ascend(tr);
	}
	return false;
}

void table_tree(const struct calltree *t, const struct table_opts *o, struct grid *g)
{
	struct tree tr = { .t = t, .opts = o };
	struct level *up;
	uint32_t node;

	*g = (struct grid){ .whole = t->nodes[0].total };
	grid_column(g, "Children", "children", GRID_PERCENT);
	grid_column(g, "Self", "self", GRID_PERCENT);
	grid_column(g, o->mixed ? "Count" : o->period ? "Period" : o->waits ? "Waits" : "Samples",
		    o->mixed ? "count" : o->period ? "period" : "samples", GRID_COUNT);
	grid_column(g, "Depth", "depth", GRID_COUNT);
	grid_column(g, "Symbol", "symbol", GRID_SYMBOL);
	descend(&tr, 0, 0);
	while (next_node(&tr, &node, &up)) {
		const struct calltree_node *nd = &t->nodes[node];
		struct grid_cell *c = grid_row(g);

		c[0].n = nd->total;
		c[1].n = c[2].n = nd->self;
		c[3].n = nd->depth;
		c[4].n = kinds[nd->hue];
		c[4].text = intern_str(t->names, nd->name);
		descend(&tr, node, 0);
	}
	free(tr.levels);
}

/*
 * Returns the length of a run of recursive calls that lead nowhere else; it is shown as one line.
 * *@last: its last node.
 */
static uint32_t skip_recursion(const struct calltree *t, uint32_t node, uint32_t *last)
{
	uint32_t n = 1, child;

	*last = node;
	while ((child = t->nodes[*last].child) && !t->nodes[child].next && !t->nodes[*last].self &&
	       t->nodes[child].name == t->nodes[node].name && t->nodes[child].hue == t->nodes[node].hue) {
		*last = child;
		n++;
	}
	return n;
}

/*
 * Writes the line for @node and those up to @last (@times in a run). @below: the level below them.
 */
static void put_line(const struct calltree *t, uint32_t node, uint32_t last, uint32_t times, const struct level *up,
		     const struct level *below, bool color, FILE *to)
{
	static const char *const marks[] = {
		[HUE_USER] = "", [HUE_KERNEL] = "[k] ", [HUE_JIT] = "[j] ", [HUE_INLINED] = "[i] ", [HUE_LEADING] = "",
		[HUE_STATES ... HUE_STATES + STATES - 1] = "",
	};
	const struct calltree_node *nd = &t->nodes[node];
	uint64_t all = t->nodes[0].total;
	struct strbuf sb = STRBUF_INIT;

	grid_percent(nd->total, all, color, to);
	grid_percent(t->nodes[last].self, all, color, to);
	strbuf_addf(&sb, "  %*s%s%s", (int)up->indent, "", up->n > 1 ? "+- " : "", marks[nd->hue]);
	escape_text(&sb, intern_str(t->names, nd->name));
	if (times > 1)
		strbuf_addf(&sb, " (x%" PRIu32 ")", times);
	if (below->nfolded)
		strbuf_addf(&sb, "  (and %" PRIu32 " with %.2f%%)", below->nfolded,
			    100.0 * (double)below->folded / (double)all);
	strbuf_addc(&sb, '\n');
	fwrite(sb.s, 1, sb.len, to);
	strbuf_fini(&sb);
}

void table_tree_text(const struct calltree *t, const struct table_opts *o, bool color, FILE *to)
{
	struct tree tr = { .t = t, .opts = o };
	struct level *up;
	uint32_t node;

	fputs("# Children     Self  Call tree\n# .......  .......  .........\n#\n", to);
	descend(&tr, 0, 0);
	while (next_node(&tr, &node, &up)) {
		struct level above = *up;
		uint32_t last, times = skip_recursion(t, node, &last);

		/*
		 * Indentation shows where stacks branch. An only child is printed right below its
		 * caller, not indented.
		 */
		descend(&tr, last, above.indent + (above.n > 1 ? STEP : 0));
		put_line(t, node, last, times, &above, &tr.levels[tr.n - 1], color, to);
	}
	free(tr.levels);
}
