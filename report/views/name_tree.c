#include "views/name_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/longname.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/folded_frame.h"
#include "profile/profile_bound.h"

/* [frame] -> text. Owned by the caller. */
static uint32_t *frame_texts(struct name_tree *t, const struct profile *p, const bool marks[PROFILE_KINDS])
{
	uint32_t *texts = xcalloc(p->nframes, sizeof(*texts));
	struct strbuf sb = STRBUF_INIT;

	for (uint32_t i = 1; i < p->nframes; i++) {
		const struct profile_frame *f = &p->frames[i];

		strbuf_reset(&sb);
		folded_add_name(&sb, profile_text(p, f->name));
		if (marks[f->kind])
			folded_add_marks(&sb, f->kind, false);
		texts[i] = intern_addn(t->texts, sb.s ? sb.s : "", sb.len);
	}
	strbuf_fini(&sb);
	return texts;
}

/* What a reader would take for a count is written in another way. */
static void make_ends(struct name_tree *t, bool guard)
{
	const uint32_t n = intern_count(t->texts);
	struct strbuf sb = STRBUF_INIT;

	t->end = xcalloc(n, sizeof(*t->end));
	for (uint32_t i = 0; i < n; i++) {
		t->end[i] = i;
		if (!guard || !folded_ends_in_count(intern_str(t->texts, i), intern_len(t->texts, i)))
			continue;
		strbuf_reset(&sb);
		strbuf_add(&sb, intern_str(t->texts, i), intern_len(t->texts, i));
		folded_guard_count(&sb);
		t->end[i] = intern_addn(t->texts, sb.s, sb.len);
	}
	strbuf_fini(&sb);
}

static uint32_t child_of(struct name_tree *t, struct u64map *children, uint32_t parent, uint32_t text)
{
	bool is_new;
	uint64_t *at = u64map_put(children, (uint64_t)parent << 32 | text, &is_new);
	struct name_node *nd = &t->nodes[t->n];

	if (!is_new)
		return (uint32_t)*at;
	*nd = (struct name_node){ parent, text, t->nodes[parent].depth + 1, 0 };
	if (__builtin_add_overflow(t->nodes[parent].bytes, intern_len(t->texts, text) + 1, &nd->bytes))
		nd->bytes = UINT64_MAX;
	*at = t->n;
	return t->n++;
}

void name_tree_init(struct name_tree *t, const struct profile *p, const char *none, const bool marks[PROFILE_KINDS], bool guard,
		    bool callee)
{
	struct u64map children = U64MAP_INIT;	/* parent << 32 | text -> node */
	uint32_t *texts, empty;

	*t = (struct name_tree){ .callee = callee, .texts = intern_new(), .n = 1 };
	texts = frame_texts(t, p, marks);
	t->nodes = xcalloc((size_t)p->nnodes + 1, sizeof(*t->nodes));
	t->of = xcalloc(p->nnodes, sizeof(*t->of));
	empty = child_of(t, &children, 0, intern_add(t->texts, none));
	/* Nothing separates frames without a name from the beginning of the line. */
	for (uint32_t i = 1; i < p->nnodes; i++)
		if (texts[p->nodes[i].frame] || t->of[p->nodes[i].parent])
			t->of[i] = child_of(t, &children, t->of[p->nodes[i].parent], texts[p->nodes[i].frame]);
	for (uint32_t i = 0; i < p->nnodes; i++)
		t->of[i] = t->of[i] ? t->of[i] : empty;
	free(texts);
	u64map_fini(&children);
	make_ends(t, guard);
}

void name_tree_fini(struct name_tree *t)
{
	free(t->nodes);
	free(t->of);
	free(t->end);
	intern_free(t->texts);
}

/* ---- order ---- */

/* Compares frames, each at the end of its line or with others behind. */
static int compare_frames(const struct name_tree *t, uint32_t a, bool a_ends, uint32_t b, bool b_ends)
{
	const uint32_t ta = t->nodes[a].text, tb = t->nodes[b].text;
	const char *x = intern_str(t->texts, a_ends ? t->end[ta] : ta), *y = intern_str(t->texts, b_ends ? t->end[tb] : tb);
	unsigned char cx, cy;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	cx = *x ? (unsigned char)*x : a_ends ? 0 : ';';
	cy = *y ? (unsigned char)*y : b_ends ? 0 : ';';
	return cx < cy ? -1 : cx > cy;
}

static int compare_callees(const struct name_tree *t, uint32_t a, uint32_t b)
{
	const struct name_node *nodes = t->nodes;

	while (a && b && nodes[a].text == nodes[b].text && !nodes[a].parent == !nodes[b].parent) {
		a = nodes[a].parent;
		b = nodes[b].parent;
	}
	if (!a || !b)	/* one is the beginning of the other */
		return !b - !a;
	return compare_frames(t, a, !nodes[a].parent, b, !nodes[b].parent);
}

int name_tree_compare(const struct name_tree *t, uint32_t a, uint32_t b)
{
	const struct name_node *nodes = t->nodes;
	uint32_t x = a, y = b;

	if (a == b || t->callee)
		return a == b ? 0 : compare_callees(t, a, b);
	while (nodes[x].depth > nodes[y].depth)
		x = nodes[x].parent;
	while (nodes[y].depth > nodes[x].depth)
		y = nodes[y].parent;
	while (nodes[x].parent != nodes[y].parent) {
		x = nodes[x].parent;
		y = nodes[y].parent;
	}
	return compare_frames(t, x, x == a, y, y == b);
}

/* ---- text ---- */

/* A line that is being made. */
struct line {
	const struct name_tree *t;
	const uint32_t *path;	/* nodes in the order of the line */
	size_t n;
	struct strbuf *out;
};

static void add_frame(const struct line *l, size_t i, size_t max)
{
	const struct name_tree *t = l->t;
	uint32_t text = t->nodes[l->path[i]].text;

	text = i + 1 == l->n ? t->end[text] : text;
	if (l->out->len)
		strbuf_addc(l->out, ';');
	longname_add(l->out, intern_str(t->texts, text), intern_len(t->texts, text), max);
}

static uint64_t bytes_of(const struct line *l, size_t i)
{
	return intern_len(l->t->texts, l->t->nodes[l->path[i]].text) + 1;
}

/* The innermost frames, or with callees first the outermost, that fit into half of @level. */
static size_t tail_of(const struct line *l, uint64_t level)
{
	uint64_t bytes = 0;
	size_t n = 0;

	while (n < l->n && n < BOUND_INNERMOST && bytes + bytes_of(l, l->n - 1 - n) <= level / 2)
		bytes += bytes_of(l, l->n - 1 - n++);
	return n;
}

static void add_part(const struct line *l, uint64_t level)
{
	const size_t tail = tail_of(l, level), end = l->n - MAX(tail, (size_t)1);
	size_t i = 0;

	for (uint64_t bytes = 0; i < end && bytes + bytes_of(l, i) <= level / 2; i++) {
		bytes += bytes_of(l, i);
		add_frame(l, i, SIZE_MAX);
	}
	if (i < end) {
		strbuf_adds(l->out, l->out->len ? ";" : "");
		strbuf_adds(l->out, BOUND_LEFT_OUT);
	}
	for (i = end; i < l->n; i++)
		add_frame(l, i, tail ? SIZE_MAX : LONGNAME_BRIEF);
}

bool name_tree_text(const struct name_tree *t, uint32_t node, uint64_t level, struct strbuf *out)
{
	const uint32_t depth = t->nodes[node].depth;
	uint32_t *path = xcalloc((size_t)depth + 1, sizeof(*path));
	const struct line l = { t, path, depth, out };
	const bool whole = t->nodes[node].bytes <= level;
	uint32_t at = node;

	strbuf_reset(out);
	for (uint32_t i = 0; i < depth; i++, at = t->nodes[at].parent)
		path[t->callee ? i : depth - 1 - i] = at;
	for (size_t i = 0; whole && i < depth; i++)
		add_frame(&l, i, SIZE_MAX);
	if (!whole)
		add_part(&l, level);
	free(path);
	return !whole;
}
