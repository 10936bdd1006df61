#include "capture/caplist.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

struct caplist *caplist_new(void)
{
	return xcalloc(1, sizeof(struct caplist));
}

void caplist_free(struct caplist *cl, struct pins *pins)
{
	if (!cl)
		return;
	for (size_t i = 0; i < cl->n; i++) {
		free(cl->v[i].addrs);
		leaf_counts_fini(&cl->v[i].leafs);
		if (cl->v[i].facts)
			cl->v[i].facts->listed--;
		proc_facts_put(pins, cl->v[i].facts);
	}
	free(cl->v);
	free(cl->order);
	free(cl);
}

struct cap_entry *caplist_add(struct caplist *cl, enum capture_kind kind, uint32_t id,
			      uint64_t *addrs, size_t n)
{
	XGROW(cl->v, cl->n, cl->cap);
	cl->bytes += sizeof(*cl->v) + n * sizeof(*addrs);
	cl->v[cl->n] = (struct cap_entry){ .kind = kind, .id = id, .addrs = addrs, .n = n };
	return &cl->v[cl->n++];
}

void cap_entry_hold(struct cap_entry *e, struct proc_facts *f)
{
	e->facts = proc_facts_get(f);
	if (f)
		f->listed++;
}

static int by_id(const void *a, const void *b)
{
	const struct cap_entry *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void caplist_seal(struct caplist *cl)
{
	uint64_t samples = 0;

	if (cl->n)
		qsort(cl->v, cl->n, sizeof(*cl->v), by_id);
	for (size_t i = 0; i < cl->n; i++) {
		samples += cl->v[i].leafs.samples;
		cl->bytes += cl->v[i].leafs.n * sizeof(*cl->v[i].leafs.v);
	}
	code_budget_init(&cl->code, samples);
}

static int by_samples(const void *a, const void *b, void *arg)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct cap_entry *v = arg;

	if (v[i].leafs.samples != v[k].leafs.samples)
		return v[i].leafs.samples > v[k].leafs.samples ? -1 : 1;
	return i < k ? -1 : i > k;
}

struct cap_entry *caplist_next(struct caplist *cl)
{
	if (!cl->order) {
		cl->order = xmalloc((cl->n + 1) * sizeof(*cl->order));
		for (size_t i = 0; i < cl->n; i++)
			cl->order[i] = (uint32_t)i;
		qsort_r(cl->order, cl->n, sizeof(*cl->order), by_samples, cl->v);
	}
	return cl->next < cl->n ? &cl->v[cl->order[cl->next++]] : NULL;
}

struct cap_entry *caplist_find(const struct caplist *cl, enum capture_kind kind, uint32_t id)
{
	const struct cap_entry key = { .kind = kind, .id = id };

	return cl->n ? bsearch(&key, cl->v, cl->n, sizeof(*cl->v), by_id) : NULL;
}

uint64_t *caplist_union(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t *n)
{
	uint64_t *out = xmalloc((na + nb + 1) * sizeof(*out));
	size_t i = 0, k = 0;

	for (*n = 0; i < na || k < nb; ++*n) {
		uint64_t x = i < na && (k == nb || a[i] <= b[k]) ? a[i] : b[k];

		i += i < na && a[i] == x;
		k += k < nb && b[k] == x;
		out[*n] = x;
	}
	return out;
}

static void merge_entry(struct caplist *to, const struct cap_entry *e)
{
	struct cap_entry *last = to->n ? &to->v[to->n - 1] : NULL;
	uint64_t *both;
	size_t n;

	if (!last || by_id(last, e)) {
		last = caplist_add(to, e->kind, e->id, NULL, 0);
		last->dso = e->dso;
		last->done = e->done;
		memcpy(last->comm, e->comm, sizeof(last->comm));
	}
	/* Prefer the latest facts: a perf map may have been found later. */
	if (e->facts && !last->facts)
		cap_entry_hold(last, e->facts);
	leaf_counts_add(&last->leafs, &e->leafs);
	both = caplist_union(last->addrs, last->n, e->addrs, e->n, &n);
	free(last->addrs);
	to->bytes += (n - last->n) * sizeof(*both);
	last->addrs = both;
	last->n = n;
}

/*
 * Merges many short sorted lists: takes the smallest of their heads each time, from the newest list
 * first.
 */
struct caplist *caplist_merge(struct caplist *const *lists, size_t n)
{
	struct caplist *to = caplist_new();
	size_t *at = xcalloc(n + 1, sizeof(*at));

	for (;;) {
		const struct cap_entry *min = NULL;
		size_t from = 0;

		for (size_t i = n; i-- > 0;) {
			if (at[i] == lists[i]->n || (min && by_id(&lists[i]->v[at[i]], min) >= 0))
				continue;
			min = &lists[i]->v[at[i]];
			from = i;
		}
		if (!min)
			break;
		merge_entry(to, min);
		at[from]++;
	}
	free(at);
	caplist_seal(to);
	return to;
}
