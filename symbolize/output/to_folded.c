/* The folded writer (to_folded.h). */
#include "output/to_folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/fair_level.h"
#include "profile/folded_frame.h"
#include "profile/profile_bound.h"

/*
 * Text that the following lines share is cached up to this length; the rest is rebuilt for each
 * line.
 */
#define PREFIX_MAX (1u << 20)

/*
 * What is below a node of the tree of names: lines with the same beginning, each with a frame of
 * its own. No frame contains ';', so all lines through a child stay together in the sorted output.
 */
struct item {
	uint32_t node;		/* a child */
	bool below;		/* the lines through it; otherwise the line that ends there */
};

struct fold {
	FILE *to;
	const struct naming *nm;
	const struct stacktree *names;
	enum fold_weight weight;
	struct item *items;	/* owned; grouped by parent, sorted within each */
	size_t *start;		/* owned; index of the first item of each node, and the end */
	/* Names that a reader would take for a count at the end of a line, and how they are written there. */
	struct intern *guarded;	/* owned */
	struct u64map guard_of;	/* name id -> id in @guarded */
	uint64_t *bytes;	/* owned; by node: of its line, without the count; NULL: no line is too long */
	uint64_t level, cut;	/* bytes of longer lines; such lines */
};

static const char *item_text(const struct fold *f, const struct item *it, size_t *len)
{
	uint32_t id = f->names->nodes[it->node].loc;
	const uint64_t *guard = it->below ? NULL : u64map_get(&f->guard_of, id);

	*len = guard ? intern_len(f->guarded, (uint32_t)*guard) : intern_len(f->nm->names, id);
	return guard ? intern_str(f->guarded, (uint32_t)*guard) : intern_str(f->nm->names, id);
}

static void find_guarded(struct fold *f)
{
	struct strbuf sb = STRBUF_INIT;

	f->guarded = intern_new();
	for (uint32_t id = 1; id < intern_count(f->nm->names); id++) {
		const char *s = intern_str(f->nm->names, id);
		const size_t len = intern_len(f->nm->names, id);

		if (!folded_ends_in_count(s, len))
			continue;
		strbuf_reset(&sb);
		strbuf_add(&sb, s, len);
		folded_guard_count(&sb);
		*u64map_put(&f->guard_of, id, NULL) = intern_addn(f->guarded, sb.s, sb.len);
	}
	strbuf_fini(&sb);
}


int fold_parse_weight(const char *text, enum fold_weight *out)
{
	if (strcmp(text, "samples") == 0)
		*out = FOLD_SAMPLES;
	else if (strcmp(text, "period") == 0)
		*out = FOLD_PERIOD;
	else
		return -EINVAL;
	return 0;
}

/*
 * Rebuilds the tree by names: two addresses in one function become one node, so equal lines are
 * merged without comparing text. Names contain no ';', hence equal lines have equal ids.
 */
static void merge_by_name(struct stacktree *out, const struct stacktree *tree,
			  const struct naming *nm)
{
	uint32_t *to = xcalloc(tree->n, sizeof(*to));
	size_t i;

	stacktree_init(out);
	for (i = 1; i < tree->n; i++) {
		const struct stacknode *nd = &tree->nodes[i];
		const struct named *name = &nm->named[nd->loc];
		uint32_t k, node = to[nd->parent];

		/* The input is innermost first, this tree root first. */
		for (k = name->n; k-- > 0; ) {
			uint32_t id = nm->ids[name->first + k];

			/* Adjacent "[kernel]" frames become one. */
			if (id != nm->kernel_id || !id || out->nodes[node].loc != id)
				node = stacktree_child(out, node, id);
		}
		to[i] = node;
		if (nd->samples)
			stacktree_count(out, node, nd->samples, nd->period);
	}
	free(to);
}

static uint64_t count_of(const struct fold *f, uint32_t node)
{
	const struct stacknode *nd = &f->names->nodes[node];

	return f->weight == FOLD_PERIOD ? nd->period : nd->samples;
}

/* ---- order ---- */

/* A position in the text of an item: in its name, then in what follows. */
struct place {
	const char *p, *then;
};

/* The next byte; 0 at the end. */
static unsigned char place_next(struct place *pl)
{
	if (!*pl->p && pl->then) {
		pl->p = pl->then;
		pl->then = NULL;
	}
	return *pl->p ? (unsigned char)*pl->p++ : 0;
}

/* Returns what follows the name of @it, using @buf. */
static const char *behind_name(const struct fold *f, const struct item *it, char *buf, size_t size)
{
	if (it->below)
		return ";";
	snprintf(buf, size, " %" PRIu64, count_of(f, it->node));
	return buf;
}

/* Compares as "LC_ALL=C sort" would compare their lines. The items have the same parent. */
static int compare_items(const void *pa, const void *pb, void *ctx)
{
	const struct fold *f = ctx;
	const struct item *a = pa, *b = pb;
	size_t lena, lenb, same;
	const char *p = item_text(f, a, &lena), *q = item_text(f, b, &lenb);
	int order;
	struct place pla, plb;
	char bufa[24], bufb[24];

	same = MIN(lena, lenb);
	order = p == q ? 0 : memcmp(p, q, same);
	if (order)
		return order;
	pla = (struct place){ p + same, behind_name(f, a, bufa, sizeof(bufa)) };
	plb = (struct place){ q + same, behind_name(f, b, bufb, sizeof(bufb)) };
	for (;;) {
		unsigned char ca = place_next(&pla), cb = place_next(&plb);

		if (ca != cb)
			return ca < cb ? -1 : 1;
		if (!ca)
			return 0;
	}
}

static void sort_items(struct fold *f)
{
	const struct stacktree *names = f->names;
	bool *parent = xcalloc(names->n, sizeof(*parent));	/* of something with samples */
	size_t *at;

	/* Callers come before callees. */
	for (size_t i = names->n; i-- > 1;)
		parent[names->nodes[i].parent] |= names->nodes[i].samples || parent[i];
	f->start = xcalloc(names->n + 1, sizeof(*f->start));
	for (size_t i = 1; i < names->n; i++)
		f->start[names->nodes[i].parent + 1] += parent[i] + (names->nodes[i].samples != 0);
	for (size_t i = 1; i <= names->n; i++)
		f->start[i] += f->start[i - 1];
	f->items = xcalloc(f->start[names->n] + 1, sizeof(*f->items));
	at = xmemdup(f->start, names->n * sizeof(*at));
	for (size_t i = 1; i < names->n; i++) {
		size_t *to = &at[names->nodes[i].parent];

		if (names->nodes[i].samples)
			f->items[(*to)++] = (struct item){ (uint32_t)i, false };
		if (parent[i])
			f->items[(*to)++] = (struct item){ (uint32_t)i, true };
	}
	for (size_t i = 0; i < names->n; i++) {
		size_t n = f->start[i + 1] - f->start[i];

		if (n > 1)
			qsort_r(f->items + f->start[i], n, sizeof(*f->items), compare_items, f);
	}
	free(at);
	free(parent);
}

/* ---- lines ---- */

/* The path from the root to the current line. */
struct level {
	const char *name;
	size_t len;
	uint32_t node;
	size_t at, end;		/* remaining items below it */
	size_t text;		/* bytes of the prefix, including its name; SIZE_MAX: the prefix
				 * does not hold them */
};

struct way {
	struct strbuf prefix;
	struct level *levels;	/* owned; [0] is the start */
	size_t n, cap;
};

static void way_down(struct way *w, const struct fold *f, const struct item *it)
{
	const struct level *up = w->n ? &w->levels[w->n - 1] : NULL;
	struct level l = { .node = it->node, .at = f->start[it->node], .end = f->start[it->node + 1] };

	l.name = item_text(f, it, &l.len);
	if (up && (up->text > PREFIX_MAX || l.len > PREFIX_MAX)) {
		l.text = SIZE_MAX;
	} else if (up) {
		w->prefix.len = up->text;
		if (w->n > 1)
			strbuf_addc(&w->prefix, ';');
		strbuf_add(&w->prefix, l.name, l.len);
		l.text = w->prefix.len;
	}
	XGROW(w->levels, w->n, w->cap);
	w->levels[w->n++] = l;
}

static void add_text(struct fold *f, const char *text, size_t len)
{
	fwrite_unlocked(text, 1, len, f->to);
}

/*
 * Recursion and inlining can make stacks whose text is the square of the recording. All together are
 * bounded as other folded text is (fair_level.h).
 */
static void find_level(struct fold *f)
{
	const struct stacktree *names = f->names;
	struct fair_item *items;
	uint64_t sum = 0, *levels;
	size_t n = 0;

	f->bytes = xcalloc(names->n, sizeof(*f->bytes));
	for (size_t i = 1; i < names->n; i++) {
		f->bytes[i] = f->bytes[names->nodes[i].parent] + intern_len(f->nm->names, names->nodes[i].loc) + 1;
		n += names->nodes[i].samples != 0;
		if (names->nodes[i].samples && __builtin_add_overflow(sum, f->bytes[i], &sum))
			sum = UINT64_MAX;
	}
	if (sum > FAIR_FOLDED_BYTES.pool) {
		items = xcalloc(n + 1, sizeof(*items));
		n = 0;
		for (size_t i = 1; i < names->n; i++)
			if (names->nodes[i].samples)
				items[n++].to = f->bytes[i];
		levels = fair_levels(items, n, 1, FAIR_FOLDED_BYTES);
		f->level = levels ? levels[0] : 0;
		free(levels);
		free(items);
	}
	if (f->level)
		return;
	free(f->bytes);
	f->bytes = NULL;
}

static size_t frame_bytes(const struct way *w, size_t i)
{
	return w->levels[i].len + 1;
}

/* Writes the line that ends at the last level with its outermost and innermost frames alone. */
static void add_part(struct fold *f, const struct way *w)
{
	size_t first = w->n - 1, i = 1;
	uint64_t bytes = frame_bytes(w, first);

	f->cut++;
	while (first > 1 && w->n - first < BOUND_INNERMOST && bytes + frame_bytes(w, first - 1) <= f->level / 2)
		bytes += frame_bytes(w, --first);
	for (bytes = 0; i < first && bytes + frame_bytes(w, i) <= f->level / 2; i++) {
		bytes += frame_bytes(w, i);
		add_text(f, w->levels[i].name, w->levels[i].len);
		add_text(f, ";", 1);
	}
	if (i < first)
		add_text(f, BOUND_LEFT_OUT ";", strlen(BOUND_LEFT_OUT) + 1);
	for (i = first; i < w->n; i++) {
		add_text(f, i > first ? ";" : "", i > first);
		add_text(f, w->levels[i].name, w->levels[i].len);
	}
}

/* Appends @n as the end of a line. */
static void add_count(struct strbuf *sb, uint64_t n)
{
	char text[24], *p = text + sizeof(text);

	*--p = '\n';
	do {
		*--p = (char)('0' + n % 10);
	} while (n /= 10);
	*--p = ' ';
	strbuf_add(sb, p, (size_t)(text + sizeof(text) - p));
}

/*
 * Writes the line that ends at the last level. Leaves in w->prefix the text that way_down() cuts
 * off.
 */
static void add_line(struct fold *f, struct way *w)
{
	size_t i = w->n, text;

	if (f->bytes && f->bytes[w->levels[i - 1].node] > f->level) {
		add_part(f, w);
		text = w->prefix.len;
		add_count(&w->prefix, count_of(f, w->levels[w->n - 1].node));
		add_text(f, w->prefix.s + text, w->prefix.len - text);
		return;
	}
	while (w->levels[i - 1].text == SIZE_MAX)
		i--;
	text = w->prefix.len = w->levels[i - 1].text;
	if (i == w->n)
		add_count(&w->prefix, count_of(f, w->levels[w->n - 1].node));
	add_text(f, w->prefix.s, w->prefix.len);
	if (i == w->n)
		return;
	for (; i < w->n; i++) {
		if (i > 1)
			add_text(f, ";", 1);
		add_text(f, w->levels[i].name, w->levels[i].len);
	}
	add_count(&w->prefix, count_of(f, w->levels[w->n - 1].node));
	add_text(f, w->prefix.s + text, w->prefix.len - text);
}

/* Writes the lines below @root, without @root itself. */
static void write_lines(struct fold *f, uint32_t root)
{
	struct way w = { .prefix = STRBUF_INIT };

	way_down(&w, f, &(struct item){ root, true });
	while (w.n) {
		struct level *l = &w.levels[w.n - 1];
		struct item it;

		if (l->at == l->end) {
			w.n--;
			continue;
		}
		it = f->items[l->at++];
		way_down(&w, f, &it);
		if (!it.below) {
			add_line(f, &w);
			w.n--;
		}
	}
	strbuf_fini(&w.prefix);
	free(w.levels);
}

static void fold_init(struct fold *f, struct stacktree *names, const struct stacktree *tree,
		      const struct naming *nm, enum fold_weight weight)
{
	*f = (struct fold){ .nm = nm, .names = names, .weight = weight };
	merge_by_name(names, tree, nm);
	find_guarded(f);
	sort_items(f);
	find_level(f);
}

static void fold_fini(struct fold *f, struct stacktree *names)
{
	if (f->cut)
		pr_warn("%" PRIu64 " stack%s " BOUND_LEFT_OUT " in the middle, because all together are too long", f->cut,
			plural_of(f->cut, " has", "s have"));
	free(f->bytes);
	free(f->items);
	free(f->start);
	intern_free(f->guarded);
	u64map_fini(&f->guard_of);
	stacktree_fini(names);
}

void fold_write(FILE *to, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight)
{
	struct stacktree names;
	struct fold f;

	fold_init(&f, &names, tree, nm, weight);
	f.to = to;
	write_lines(&f, STACKTREE_ROOT);
	fold_fini(&f, &names);
}

int fold_write_split(const struct stacktree *tree, const struct naming *nm, enum fold_weight weight,
		     bool (*early)(const char *first), FILE *(*next)(void *ctx, const char *first), void *ctx)
{
	struct stacktree names;
	struct fold f;
	int err = 0;

	fold_init(&f, &names, tree, nm, weight);
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = f.start[STACKTREE_ROOT]; i < f.start[STACKTREE_ROOT + 1] && !err; i++) {
			uint32_t node = f.items[i].node;
			const char *first = intern_str(nm->names, names.nodes[node].loc);

			if (early(first) == turn)
				continue;
			f.to = next(ctx, first);
			if (f.to)
				write_lines(&f, node);
			else
				err = -EIO;
		}
	}
	fold_fini(&f, &names);
	return err;
}
