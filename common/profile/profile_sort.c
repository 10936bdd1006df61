/* Sorts a profile by its contents (profile.h). */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/xalloc.h"
#include "profile/profile.h"

struct sorter {
	const struct profile *from;
	struct profile *to;
	uint32_t *rank;			/* of a frame of @from */
	uint32_t *text;			/* string id of @from to that of @to; 0 not copied yet */
	uint32_t *child, *next;		/* of nodes of @from that are needed; 0 none */
};

static int compare_texts(const struct profile *p, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(profile_text(p, a), profile_text(p, b));
}

static int compare_numbers(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_threads(const void *pa, const void *pb, void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_thread *a = &p->threads[*(const uint32_t *)pa], *b = &p->threads[*(const uint32_t *)pb];
	int c = compare_texts(p, a->container, b->container);

	c = c ? c : compare_texts(p, a->cgroup, b->cgroup);
	c = c ? c : compare_numbers(a->pid, b->pid);
	c = c ? c : compare_numbers(a->tid, b->tid);
	c = c ? c : compare_texts(p, a->comm, b->comm);
	c = c ? c : compare_texts(p, a->process, b->process);
	c = c ? c : compare_numbers(a->nspid, b->nspid);
	c = c ? c : compare_numbers(a->helper, b->helper);
	return c ? c : compare_texts(p, a->fields, b->fields);
}

static int compare_frames(const void *pa, const void *pb, void *ctx)
{
	const struct profile *p = ctx;
	const struct profile_frame *a = &p->frames[*(const uint32_t *)pa], *b = &p->frames[*(const uint32_t *)pb];
	int c = compare_texts(p, a->name, b->name);

	c = c ? c : compare_texts(p, a->dso, b->dso);
	c = c ? c : compare_texts(p, a->srcline, b->srcline);
	c = c ? c : compare_texts(p, a->source, b->source);
	c = c ? c : compare_numbers(a->kind, b->kind);
	return c ? c : compare_numbers(a->joined, b->joined);
}

static int compare_nodes(const void *pa, const void *pb, void *ctx)
{
	const struct sorter *s = ctx;

	return compare_numbers(s->rank[s->from->nodes[*(const uint32_t *)pa].frame],
			       s->rank[s->from->nodes[*(const uint32_t *)pb].frame]);
}

static uint32_t copy_text(struct sorter *s, uint32_t id)
{
	if (id && !s->text[id])
		s->text[id] = profile_string(s->to, profile_text(s->from, id));
	return s->text[id];
}

/* Sorts the ids of [1, @n) that are @wanted into @list. Returns how many. */
static uint32_t sort_ids(const struct profile *p, const bool *wanted, uint32_t n, uint32_t *list,
			 int (*compare)(const void *, const void *, void *))
{
	uint32_t k = 0;

	for (uint32_t i = 1; i < n; i++)
		if (wanted[i])
			list[k++] = i;
	qsort_r(list, k, sizeof(*list), compare, (void *)p);
	return k;
}

/* Maps ids of @from to ids of @to; owned. */
static uint32_t *copy_threads(struct sorter *s)
{
	const struct profile *p = s->from;
	uint32_t *map = xcalloc(p->nthreads, sizeof(*map)), *list = xcalloc(p->nthreads, sizeof(*list)), n;
	bool *wanted = xcalloc(p->nthreads, sizeof(*wanted));

	for (size_t i = 0; i < p->ncounts; i++)
		wanted[p->counts[i].thread] = true;
	n = sort_ids(p, wanted, p->nthreads, list, compare_threads);
	for (uint32_t i = 0; i < n; i++) {
		struct profile_thread t = p->threads[list[i]];

		t.container = copy_text(s, t.container);
		t.cgroup = copy_text(s, t.cgroup);
		t.comm = copy_text(s, t.comm);
		t.process = copy_text(s, t.process);
		t.fields = copy_text(s, t.fields);
		map[list[i]] = profile_thread(s->to, &t);
	}
	free(wanted);
	free(list);
	return map;
}

/* The same for frames of the @needed nodes; sets the ranks. */
static uint32_t *copy_frames(struct sorter *s, const bool *needed)
{
	const struct profile *p = s->from;
	uint32_t *map = xcalloc(p->nframes, sizeof(*map)), *list = xcalloc(p->nframes, sizeof(*list)), n;
	bool *wanted = xcalloc(p->nframes, sizeof(*wanted));

	for (uint32_t i = 1; i < p->nnodes; i++)
		wanted[p->nodes[i].frame] |= needed[i];
	n = sort_ids(p, wanted, p->nframes, list, compare_frames);
	for (uint32_t i = 0; i < n; i++) {
		struct profile_frame f = p->frames[list[i]];

		f.name = copy_text(s, f.name);
		f.dso = copy_text(s, f.dso);
		f.srcline = copy_text(s, f.srcline);
		f.source = copy_text(s, f.source);
		map[list[i]] = profile_frame(s->to, &f);
		s->rank[list[i]] = i;
	}
	free(wanted);
	free(list);
	return map;
}

/* Sorts the children of @node. */
static void sort_children(struct sorter *s, uint32_t node, uint32_t **kids, size_t *cap)
{
	uint32_t n = 0;

	for (uint32_t c = s->child[node]; c; c = s->next[c]) {
		XGROW(*kids, n, *cap);
		(*kids)[n++] = c;
	}
	if (n < 2)
		return;
	qsort_r(*kids, n, sizeof(**kids), compare_nodes, s);
	s->child[node] = (*kids)[0];
	for (uint32_t i = 0; i < n; i++)
		s->next[(*kids)[i]] = i + 1 < n ? (*kids)[i + 1] : 0;
}

/* Depth first, without recursion: stacks may be a million frames deep. */
static uint32_t *copy_nodes(struct sorter *s, const bool *needed, const uint32_t *frames)
{
	const struct profile *p = s->from;
	uint32_t *map = xcalloc(p->nnodes, sizeof(*map)), *kids = NULL, at = 0;
	size_t cap = 0;

	for (uint32_t i = 1; i < p->nnodes; i++) {
		if (!needed[i])
			continue;
		s->next[i] = s->child[p->nodes[i].parent];
		s->child[p->nodes[i].parent] = i;
	}
	for (;;) {
		sort_children(s, at, &kids, &cap);
		if (s->child[at]) {
			at = s->child[at];
		} else {
			while (at && !s->next[at])
				at = p->nodes[at].parent;
			if (!at)
				break;
			at = s->next[at];
		}
		map[at] = profile_child(s->to, map[p->nodes[at].parent], frames[p->nodes[at].frame]);
	}
	free(kids);
	return map;
}

static bool *needed_nodes(const struct profile *p)
{
	bool *needed = xcalloc(p->nnodes, sizeof(*needed));

	for (size_t i = 0; i < p->ncounts; i++)
		needed[p->counts[i].node] = true;
	for (uint32_t i = p->nnodes; i-- > 1;)
		needed[p->nodes[i].parent] |= needed[i];
	return needed;
}

struct profile *profile_sorted(const struct profile *p)
{
	struct sorter s = { .from = p, .to = profile_new() };
	uint32_t *threads, *frames, *nodes;
	bool *needed = needed_nodes(p);

	s.rank = xcalloc(p->nframes, sizeof(*s.rank));
	s.text = xcalloc(intern_count(p->strings), sizeof(*s.text));
	s.child = xcalloc(p->nnodes, sizeof(*s.child));
	s.next = xcalloc(p->nnodes, sizeof(*s.next));
	for (uint32_t i = 0; i < p->nmeta; i++)
		profile_set_meta(s.to, profile_text(p, p->meta[i].key), profile_text(p, p->meta[i].value));
	profile_same_events(s.to, p);
	threads = copy_threads(&s);
	frames = copy_frames(&s, needed);
	nodes = copy_nodes(&s, needed, frames);
	for (size_t i = 0; i < p->ncounts; i++) {
		struct profile_count c = p->counts[i];

		c.thread = threads[c.thread];
		c.node = nodes[c.node];
		profile_count(s.to, &c);
	}
	s.to->block_ns = p->block_ns;
	s.to->nblocks = p->nblocks;
	s.to->cut = p->cut;
	profile_finish(s.to);
	free(needed);
	free(threads);
	free(frames);
	free(nodes);
	free(s.rank);
	free(s.text);
	free(s.child);
	free(s.next);
	return s.to;
}
