/* Adds and finds the nodes of a profile that is being built (profile.h). */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "profile/profile_priv.h"

/*
 * Paths that are looked up side by side. More than enough to keep memory busy, and few enough that
 * data prefetched for the first is still cached when the last was requested.
 */
#define GROUP 64

void profile_check_room(uint64_t n, const char *what)
{
	if (n < UINT32_MAX - 1)
		return;
	pr_err("the profile has more than %u different %s, which is the limit", UINT32_MAX - 1, what);
	exit(EXIT_FAILURE);
}

void kids_fini(struct kids *k)
{
	free(k->first);
	u64map_fini(&k->others);
}

static uint64_t kid_key(uint32_t parent, uint32_t frame)
{
	return (uint64_t)parent << 32 | frame;
}

/* Enters all nodes that are not entered yet. */
static void kids_update(const struct profile *p, struct kids *k)
{
	for (; k->upto < p->nnodes; k->upto++) {
		const struct profile_node *nd = &p->nodes[k->upto];

		XGROW(k->first, k->upto, k->cap);
		k->first[k->upto] = 0;
		if (!k->upto)	/* the root is no child */
			continue;
		if (!k->first[nd->parent])
			k->first[nd->parent] = k->upto;
		else
			*u64map_put(&k->others, kid_key(nd->parent, nd->frame), NULL) = k->upto;
	}
}

/* The child of an entered node, or 0. */
static uint32_t kids_find(const struct profile *p, const struct kids *k, uint32_t parent, uint32_t frame)
{
	uint32_t id = k->first[parent];
	const uint64_t *other;

	if (!id || p->nodes[id].frame == frame)
		return id;
	other = u64map_get(&k->others, kid_key(parent, frame));
	return other ? (uint32_t)*other : 0;
}

uint32_t profile_child(struct profile *p, uint32_t parent, uint32_t frame)
{
	struct kids *k = &p->index->kids;
	uint32_t id;

	kids_update(p, k);
	id = kids_find(p, k, parent, frame);
	return id ? id : profile_chain(p, parent, &frame, 1);
}

uint32_t profile_chain(struct profile *p, uint32_t parent, const uint32_t *frames, size_t n)
{
	struct profile_index *x = p->index;
	uint32_t first = p->nnodes;

	profile_check_room((uint64_t)first + n, "stacks");
	while (x->nodes_cap < first + n)
		XGROW(p->nodes, x->nodes_cap, x->nodes_cap);
	for (size_t i = 0; i < n; i++) {
		p->nodes[p->nnodes] = (struct profile_node){ parent, frames[i] };
		parent = p->nnodes++;
	}
	return first;
}

/* How far a path is known. */
struct walk {
	uint32_t *ids;		/* this path's part: nodes up to @known, then frames */
	uint32_t known;
};

static uint32_t walk_at(const struct walk *w)
{
	return w->known ? w->ids[w->known - 1] : 0;
}

/*
 * Finds existing nodes of @n paths, as far as they exist. All paths advance one step at a time, so
 * that each step waits for memory once and not once for each path.
 */
static void walk_known(const struct profile *p, const struct kids *k, const struct profile_path *paths,
		       struct walk *walks, size_t n)
{
	uint8_t on[GROUP];	/* paths that have not ended */
	size_t non = 0, left;

	for (size_t i = 0; i < n; i++)
		on[non++] = (uint8_t)i;
	for (uint32_t depth = 0; non; depth++, non = left) {
		for (size_t i = 0; i < non; i++) {
			const struct walk *w = &walks[on[i]];
			uint32_t node = walk_at(w);

			__builtin_prefetch(&k->first[node]);
			u64map_prefetch(&k->others, kid_key(node, w->ids[depth]));
		}
		for (size_t i = 0; i < non; i++)
			__builtin_prefetch(&p->nodes[k->first[walk_at(&walks[on[i]])]]);
		left = 0;
		for (size_t i = 0; i < non; i++) {
			const struct profile_path *path = &paths[on[i]];
			struct walk *w = &walks[on[i]];
			uint32_t id;

			if (depth < path->same)
				id = w[-1].known > depth ? w[-1].ids[depth] : 0;
			else
				id = kids_find(p, k, walk_at(w), w->ids[depth]);
			if (!id)
				continue;
			w->ids[w->known++] = id;
			if (w->known < path->n)
				on[left++] = on[i];
		}
	}
}

/* Creates the missing nodes of a path. */
static void walk_end(struct profile *p, const struct profile_path *path, struct walk *w)
{
	uint32_t was = p->nnodes, node, first;

	for (; w->known < path->same; w->known++)
		w->ids[w->known] = w[-1].ids[w->known];
	node = walk_at(w);
	/* Everything below a new node is new. */
	while (w->known < path->n && node < was) {
		node = profile_child(p, node, w->ids[w->known]);
		w->ids[w->known++] = node;
	}
	if (w->known == path->n)
		return;
	first = profile_chain(p, node, w->ids + w->known, path->n - w->known);
	while (w->known < path->n)
		w->ids[w->known++] = first++;
}

void profile_paths(struct profile *p, uint32_t *ids, const struct profile_path *paths, size_t n)
{
	struct kids *k = &p->index->kids;
	struct walk walks[1 + GROUP];

	for (size_t done = 0; done < n; done += GROUP) {
		size_t part = MIN(n - done, (size_t)GROUP);

		kids_update(p, k);
		for (size_t i = 0; i < part; i++) {
			walks[1 + i] = (struct walk){ .ids = ids };
			ids += paths[done + i].n;
		}
		walk_known(p, k, paths + done, walks + 1, part);
		for (size_t i = 0; i < part; i++)
			walk_end(p, &paths[done + i], &walks[1 + i]);
		walks[0] = walks[part];
	}
}
