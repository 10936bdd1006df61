#include "views/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"

/* One slot of the open-addressing table that finds a child by its parent and name. */
struct child_slot {
	uint32_t node;	/* 0 = free: the root is no node's child */
};

struct calltree *calltree_new(void)
{
	struct calltree *t = xcalloc(1, sizeof(*t));

	t->names = intern_new();
	XGROW(t->nodes, t->n, t->cap);
	memset(&t->nodes[t->n++], 0, sizeof(*t->nodes));
	t->nodes[0].hue = HUE_LEADING;
	return t;
}

void calltree_free(struct calltree *t)
{
	if (!t)
		return;
	intern_free(t->names);
	free(t->nodes);
	free(t->slots);
	free(t);
}

static uint64_t child_hash(uint32_t parent, uint32_t name, uint8_t hue)
{
	return hash_combine(((uint64_t)parent << 32) | name, hue);
}

static void slots_grow(struct calltree *t)
{
	size_t want = t->nslots ? t->nslots * 2 : 1024, i;
	struct child_slot *slots = xcalloc(want, sizeof(*slots));

	for (i = 1; i < t->n; i++) {
		const struct calltree_node *nd = &t->nodes[i];
		size_t at = child_hash(nd->parent, nd->name, nd->hue) & (want - 1);

		while (slots[at].node)
			at = (at + 1) & (want - 1);
		slots[at].node = (uint32_t)i;
	}
	free(t->slots);
	t->slots = slots;
	t->nslots = want;
}

uint32_t calltree_add(struct calltree *t, uint32_t parent, uint32_t name, uint8_t hue)
{
	struct calltree_node *nd;

	if (t->n == UINT32_MAX) {
		pr_err("more than %u different frames: report a part of the input", UINT32_MAX - 1);
		exit(1);
	}
	XGROW(t->nodes, t->n, t->cap);
	nd = &t->nodes[t->n];
	*nd = (struct calltree_node){
		.name = name, .parent = parent, .next = t->nodes[parent].child, .depth = t->nodes[parent].depth + 1,
		.hue = hue,
	};
	t->depth = MAX(t->depth, nd->depth);
	t->nodes[parent].child = t->n;
	return t->n++;
}

uint32_t calltree_child(struct calltree *t, uint32_t parent, uint32_t name, uint8_t hue)
{
	size_t at;

	if (2 * ((size_t)t->n + 1) > t->nslots)
		slots_grow(t);
	at = child_hash(parent, name, hue) & (t->nslots - 1);
	while (t->slots[at].node) {
		const struct calltree_node *nd = &t->nodes[t->slots[at].node];

		if (nd->parent == parent && nd->name == name && nd->hue == hue)
			return t->slots[at].node;
		at = (at + 1) & (t->nslots - 1);
	}
	t->slots[at].node = t->n;
	return calltree_add(t, parent, name, hue);
}

static void add_saturated(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

void calltree_count(struct calltree *t, uint32_t node, uint64_t n)
{
	calltree_count_for(t, node, node, n);
}

void calltree_count_for(struct calltree *t, uint32_t node, uint32_t own, uint64_t n)
{
	add_saturated(&t->nodes[own].self, n);
	add_saturated(&t->nodes[node].total, n);
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct calltree *t = ctx;
	const struct calltree_node *x = &t->nodes[*(const uint32_t *)a], *y = &t->nodes[*(const uint32_t *)b];
	int c = strcmp(intern_str(t->names, x->name), intern_str(t->names, y->name));

	return c ? c : (int)x->hue - (int)y->hue;
}

void calltree_sum(struct calltree *t)
{
	/* Children have larger numbers than their parents. */
	for (uint32_t i = t->n; i-- > 1;)
		add_saturated(&t->nodes[t->nodes[i].parent].total, t->nodes[i].total);
}

void calltree_sort(struct calltree *t, uint32_t node)
{
	uint32_t *kids = NULL, c, n = 0;
	size_t cap = 0;

	for (c = t->nodes[node].child; c && (n || t->nodes[c].next); c = t->nodes[c].next) {
		XGROW(kids, n, cap);
		kids[n++] = c;
	}
	if (!n)
		return;
	qsort_r(kids, n, sizeof(*kids), by_name, t);
	t->nodes[node].child = kids[0];
	for (c = 0; c + 1 < n; c++)
		t->nodes[kids[c]].next = kids[c + 1];
	t->nodes[kids[n - 1]].next = 0;
	free(kids);
}
