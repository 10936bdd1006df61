#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "intern.h"
#include "xalloc.h"

struct function {
	uint32_t name;
	uint8_t hue;
	uint32_t on_path;	/* how often it is on the path of the walk: only the first counts its total */
	uint64_t self, total;
};

static int by_self(const void *a, const void *b, void *ctx)
{
	const struct function *x = a, *y = b;
	const struct calltree *t = ctx;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(intern_str(t->names, x->name), intern_str(t->names, y->name));
}

static void enter(struct function *fn, const struct calltree_node *nd)
{
	if (nd->hue == HUE_LEADING)
		return;
	fn[nd->name].self += nd->self;
	if (!fn[nd->name].on_path++)
		fn[nd->name].total += nd->total;
	/* One name may be inlined here and called there: show what it is where it is not inlined. */
	if (fn[nd->name].total == nd->total || nd->hue != HUE_INLINED)
		fn[nd->name].hue = nd->hue;
}

/* One entry for each name; a walk without recursion, since stacks may be a million frames deep. */
static struct function *functions_collect(const struct calltree *t)
{
	uint32_t n = intern_count(t->names), i, at = 0;
	struct function *fn = xcalloc(n ? n : 1, sizeof(*fn));

	for (i = 0; i < n; i++)
		fn[i].name = i;
	for (;;) {
		if (t->nodes[at].child) {
			at = t->nodes[at].child;
			enter(fn, &t->nodes[at]);
			continue;
		}
		while (at && !t->nodes[at].next) {
			if (t->nodes[at].hue != HUE_LEADING)
				fn[t->nodes[at].name].on_path--;
			at = t->nodes[at].parent;
		}
		if (!at)
			return fn;
		if (t->nodes[at].hue != HUE_LEADING)
			fn[t->nodes[at].name].on_path--;
		at = t->nodes[at].next;
		enter(fn, &t->nodes[at]);
	}
}

void functions_print(const struct calltree *t, FILE *to, uint64_t limit, double min_percent)
{
	static const char kind[] = { [HUE_USER] = ' ', [HUE_KERNEL] = 'k', [HUE_JIT] = 'j', [HUE_INLINED] = 'i' };
	struct function *fn = functions_collect(t);
	uint32_t n = intern_count(t->names), i;
	double all = t->nodes[0].total ? (double)t->nodes[0].total : 1;
	uint64_t shown = 0, hidden = 0;

	qsort_r(fn, n, sizeof(*fn), by_self, (void *)t);
	fprintf(to, "#   Self    Total       Count    Function\n"
		    "# ......  .......  ..........  . ........\n");
	for (i = 0; i < n; i++) {
		if (!fn[i].total)
			continue;
		if ((limit && shown >= limit) || 100 * (double)fn[i].total / all < min_percent) {
			hidden++;
			continue;
		}
		shown++;
		fprintf(to, " %6.2f%%  %6.2f%%  %10llu  %c %s\n", 100 * (double)fn[i].self / all,
			100 * (double)fn[i].total / all, (unsigned long long)fn[i].self, kind[fn[i].hue],
			intern_str(t->names, fn[i].name));
	}
	if (hidden)
		fprintf(to, "# and %llu more: --limit 0 --percent-limit 0 shows all\n", (unsigned long long)hidden);
	free(fn);
}
