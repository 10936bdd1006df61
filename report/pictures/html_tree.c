#include "pictures/html_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "profile/profile.h"

/*
 * Adds @p's frames and nodes to the tree; returns the new node numbers. Joined frames, and frames
 * with names from another source, do not get boxes of their own beside the same function. The first
 * of several sources stays.
 */
static uint32_t *add(struct html_tree *t, const struct profile *p)
{
	struct profile *all = t->all;
	uint32_t *frame = xcalloc(p->nframes + 1, sizeof(*frame)), *node = xcalloc(p->nnodes + 1, sizeof(*node));

	for (uint32_t i = 1; i < p->nframes; i++) {
		struct profile_frame f = p->frames[i];
		uint32_t source = f.source;

		f.name = profile_string(all, profile_text(p, f.name));
		f.dso = profile_string(all, profile_text(p, f.dso));
		f.srcline = profile_string(all, profile_text(p, f.srcline));
		f.source = 0;
		f.joined = false;
		frame[i] = profile_frame(all, &f);
		if (source && !t->source[frame[i]])
			t->source[frame[i]] = profile_string(all, profile_text(p, source));
	}
	for (uint32_t i = 1; i < p->nnodes; i++)
		node[i] = profile_child(all, node[p->nodes[i].parent], frame[p->nodes[i].frame]);
	free(frame);
	return node;
}

static int by_text(const void *pa, const void *pb, void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_frame *a = &p->frames[*(const uint32_t *)pa], *b = &p->frames[*(const uint32_t *)pb];
	int c = strcmp(profile_text(p, a->name), profile_text(p, b->name));

	c = c ? c : strcmp(profile_text(p, a->dso), profile_text(p, b->dso));
	c = c ? c : strcmp(profile_text(p, a->srcline), profile_text(p, b->srcline));
	return c ? c : (a->kind > b->kind) - (a->kind < b->kind);
}

/* Numbers the nodes of @all in preorder; at[node] gets the number. */
static void number(struct html_tree *t, uint32_t *at)
{
	const struct profile *p = t->all;
	uint32_t *rank = xcalloc(p->nframes + 1, sizeof(*rank)), *first = xcalloc(p->nframes + 2, sizeof(*first));
	uint32_t *order = xcalloc(p->nnodes + 1, sizeof(*order));
	uint32_t *child = xcalloc(p->nnodes, sizeof(*child)), *next = xcalloc(p->nnodes, sizeof(*next));
	uint32_t node = 0, depth = 0;

	for (uint32_t i = 1; i < t->nframes; i++)
		rank[t->frames[i]] = i;
	/* Sort by frame, then prepend from the last to the first to each parent's list. */
	for (uint32_t i = 1; i < p->nnodes; i++)
		first[rank[p->nodes[i].frame] + 1]++;
	for (uint32_t i = 1; i <= p->nframes; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 1; i < p->nnodes; i++)
		order[first[rank[p->nodes[i].frame]]++] = i;
	for (uint32_t i = p->nnodes - 1; i-- > 0;) {
		next[order[i]] = child[p->nodes[order[i]].parent];
		child[p->nodes[order[i]].parent] = order[i];
	}
	for (;;) {
		at[node] = t->nnodes;
		t->nodes[t->nnodes++] = (struct html_node){ rank[p->nodes[node].frame], depth };
		if (child[node]) {
			node = child[node];
			depth++;
			continue;
		}
		while (node && !next[node]) {
			node = p->nodes[node].parent;
			depth--;
		}
		if (!node)
			break;
		node = next[node];
	}
	free(rank);
	free(first);
	free(order);
	free(child);
	free(next);
}

struct html_tree *html_tree_new(const struct profile *a, const struct profile *b)
{
	struct html_tree *t = xcalloc(1, sizeof(*t));
	const struct profile *sides[2] = { a, b };
	uint32_t *at;

	t->all = profile_new();
	t->source = xcalloc((size_t)a->nframes + (b ? b->nframes : 0) + 1, sizeof(*t->source));
	for (int k = 0; k < 2 && sides[k]; k++)
		t->place[k] = add(t, sides[k]);
	t->nframes = t->all->nframes;
	t->frames = xcalloc(t->nframes, sizeof(*t->frames));
	for (uint32_t i = 1; i < t->nframes; i++)
		t->frames[i] = i;
	qsort_r(t->frames + 1, t->nframes - 1, sizeof(*t->frames), by_text, t->all);
	t->nodes = xcalloc(t->all->nnodes, sizeof(*t->nodes));
	at = xcalloc(t->all->nnodes, sizeof(*at));
	number(t, at);
	for (int k = 0; k < 2 && sides[k]; k++)
		for (uint32_t i = 0; i < sides[k]->nnodes; i++)
			t->place[k][i] = at[t->place[k][i]];
	free(at);
	return t;
}

void html_tree_free(struct html_tree *t)
{
	if (!t)
		return;
	profile_free(t->all);
	free(t->source);
	free(t->frames);
	free(t->nodes);
	free(t->place[0]);
	free(t->place[1]);
	free(t);
}
