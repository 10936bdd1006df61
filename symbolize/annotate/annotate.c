/* Counts samples by function and address (annotate.h). */
#include "annotate/annotate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "naming/naming.h"
#include "profile/profile.h"
#include "replay/collect.h"
#include "replay/stacktree.h"
#include "support/location.h"

#define INTO_SHOWN 5

/* Symbol and address of a location. False if it is not in a function of a file. */
static bool place_of(const struct location *loc, struct symbol *sym, struct svma *at)
{
	const struct elf_file *ef;

	if (loc->kind != LOC_FILE)
		return false;
	ef = loc->mod->elf ? loc->mod->elf : loc->mod->captured;
	return ef && elf_file_off_to_svma(ef, loc->off, &at->v) &&
	       (!module_symbol(loc->mod, *at, sym) || !inlines_symbol(module_inlines(loc->mod), *at, sym));
}

static int hottest_first(const void *pa, const void *pb)
{
	const struct annotate_func *a = pa, *b = pb;
	int d;

	if (a->own != b->own)
		return a->own > b->own ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	d = strcmp(a->name, b->name);
	if (!d)
		d = strcmp(a->mod->dso.path, b->mod->dso.path);
	if (d)
		return d;
	return a->mod->id != b->mod->id ? (a->mod->id < b->mod->id ? -1 : 1) : (a->start > b->start) - (a->start < b->start);
}

/* Name of frame @k of a location; 0 is the innermost. */
static const char *frame_name(const struct naming *nm, size_t loc, uint32_t k)
{
	return intern_str(nm->names, nm->ids[nm->named[loc].first + k]);
}

/* The function that a location is in, and its address there; NULL: in none of a file. */
static struct annotate_func *func_of(struct annotate *a, struct u64map *index, size_t id, uint64_t *svma)
{
	const struct location *loc = &a->col->locs.locs[id];
	struct symbol sym;
	struct svma at;
	uint64_t *slot;
	bool is_new;

	if (!place_of(loc, &sym, &at))
		return NULL;
	*svma = at.v;
	/* Names are owned by the symbol table: each symbol of a module has one pointer. */
	slot = u64map_put(index, hash_combine(hash_combine((uintptr_t)loc->mod, (uintptr_t)sym.name), sym.start), &is_new);
	if (is_new) {
		*slot = a->n;
		XGROW(a->funcs, a->n, a->cap);
		a->funcs[a->n++] = (struct annotate_func){
			.mod = loc->mod, .name = frame_name(a->nm, id, a->nm->named[id].n - 1),
			.linkage = sym.name, .start = sym.start, .end = sym.end, .calls = a->waits,
		};
	}
	return &a->funcs[*slot];
}

static void add_place(struct annotate *a, struct u64map *index, size_t id)
{
	uint64_t at;
	struct annotate_func *f = func_of(a, index, id, &at);

	if (!f)
		return;
	f->samples += a->leaf[id];
	f->weight += a->leaf_weight[id];
	f->own += a->leaf_weight[id];
	*u64map_put(&f->at, at, NULL) += a->leaf[id];
	*u64map_put(&f->weight_at, at, NULL) += a->leaf_weight[id];
}

/* What a location is for stacks through it. */
struct through {
	uint32_t func;		/* index in annotate.funcs + 1; 0: in none */
	bool known;
	uint64_t at;		/* svma */
	uint64_t stack;		/* the last one that was counted here */
};

struct walk {
	struct annotate *a;
	struct u64map index;
	struct through *locs;	/* owned; by location id */
	uint64_t *in;		/* owned; by function: the last stack that was counted in it */
	size_t in_cap;
};

static const struct through *through(struct walk *w, uint32_t id)
{
	struct through *t = &w->locs[id];
	const struct annotate_func *f;

	if (!t->known) {
		f = func_of(w->a, &w->index, id, &t->at);
		t->func = f ? (uint32_t)(f - w->a->funcs) + 1 : 0;
		t->known = true;
	}
	while (w->in_cap < w->a->n) {
		const size_t had = w->in_cap;

		w->in_cap = had ? 2 * had : 64;
		w->in = xrealloc(w->in, w->in_cap * sizeof(*w->in));
		memset(w->in + had, 0, (w->in_cap - had) * sizeof(*w->in));
	}
	return t;
}

/*
 * Counts the stack that ends at node @leaf in each of its functions once, at the innermost call. What
 * the program's innermost function called is the kernel, if the stack goes on there.
 */
static void add_stack(struct walk *w, uint32_t leaf)
{
	struct annotate *a = w->a;
	const struct stacknode *nodes = a->col->tree.nodes;
	const uint64_t samples = nodes[leaf].samples, weight = a->period ? nodes[leaf].period : samples;
	bool innermost = true, kernel = false;

	for (uint32_t node = leaf; node; node = nodes[node].parent) {
		const uint32_t id = nodes[node].loc;
		const uint8_t kind = a->col->locs.locs[id].kind;
		const struct through *t;
		struct annotate_func *f;
		bool entered;

		if (kind == LOC_TEXT || kind == LOC_PROCESS)
			continue;
		t = through(w, id);
		if (t->stack != leaf) {
			a->leaf[id] += samples;
			a->leaf_weight[id] += weight;
			w->locs[id].stack = leaf;
		}
		if (kind == LOC_KERNEL || kind == LOC_KSYM) {
			kernel = true;
			continue;
		}
		f = t->func ? &a->funcs[t->func - 1] : NULL;
		entered = innermost && kernel;
		if (f && innermost)
			f->own += weight;
		innermost = false;
		if (!f || w->in[t->func - 1] == leaf)
			continue;
		w->in[t->func - 1] = leaf;
		f->samples += samples;
		f->weight += weight;
		*u64map_put(entered ? &f->entered : &f->at, t->at, NULL) += samples;
		*u64map_put(entered ? &f->weight_entered : &f->weight_at, t->at, NULL) += weight;
	}
}

static void add_stacks(struct annotate *a)
{
	struct walk w = { .a = a, .locs = xcalloc(a->nm->nlocs + 1, sizeof(*w.locs)) };

	for (size_t i = 1; i < a->col->tree.n; i++)
		if (a->col->tree.nodes[i].samples)
			add_stack(&w, (uint32_t)i);
	u64map_fini(&w.index);
	free(w.locs);
	free(w.in);
}

static void add_leaves(struct annotate *a)
{
	const struct stacktree *tree = &a->col->tree;
	struct u64map index = U64MAP_INIT;

	for (size_t i = 1; i < tree->n; i++) {
		a->leaf[tree->nodes[i].loc] += tree->nodes[i].samples;
		a->leaf_weight[tree->nodes[i].loc] += a->period ? tree->nodes[i].period : tree->nodes[i].samples;
	}
	for (size_t id = 0; id < a->nm->nlocs; id++)
		if (a->leaf[id])
			add_place(a, &index, id);
	u64map_fini(&index);
}

void annotate_init(struct annotate *a, const struct collect *col, const struct naming *nm, bool waits)
{
	*a = (struct annotate){ .col = col, .nm = nm, .period = collect_periods_vary(col, col->opts.event), .waits = waits };
	a->leaf = xcalloc(nm->nlocs ? nm->nlocs : 1, sizeof(*a->leaf));
	a->leaf_weight = xcalloc(nm->nlocs ? nm->nlocs : 1, sizeof(*a->leaf_weight));
	for (size_t i = 1; i < col->tree.n; i++) {
		a->samples += col->tree.nodes[i].samples;
		a->weight += a->period ? col->tree.nodes[i].period : col->tree.nodes[i].samples;
	}
	if (waits)
		add_stacks(a);
	else
		add_leaves(a);
	if (a->n)
		qsort(a->funcs, a->n, sizeof(*a->funcs), hottest_first);
}

static void func_fini(struct annotate_func *f)
{
	u64map_fini(&f->at);
	u64map_fini(&f->weight_at);
	u64map_fini(&f->entered);
	u64map_fini(&f->weight_entered);
}

void annotate_fini(struct annotate *a)
{
	for (size_t i = 0; i < a->n; i++)
		func_fini(&a->funcs[i]);
	free(a->funcs);
	free(a->leaf);
	free(a->leaf_weight);
}

/* ---- by name ---- */


enum match { MATCH_WHOLE, MATCH_NO_PARAMETERS, MATCH_PART, MATCHES };

static bool matches(enum match how, const char *name, const char *symbol)
{
	size_t len = strlen(symbol);

	switch (how) {
	case MATCH_WHOLE:
		return !strcmp(name, symbol);
	case MATCH_NO_PARAMETERS:
		return !strncmp(name, symbol, len) && name[len] == '(';
	default:
		return strstr(name, symbol) != NULL;
	}
}

size_t annotate_find(const struct annotate *a, const char *symbol, size_t **out, size_t *names)
{
	size_t *found = xcalloc(a->n ? a->n : 1, sizeof(*found)), n = 0;
	uint64_t samples;

	*names = 0;
	for (enum match how = MATCH_WHOLE; how < MATCHES && !n && *symbol; how++) {
		if (how == MATCH_PART && annotate_else(a, symbol, &samples) != ANNOTATE_NOTHING)
			break;
		for (size_t i = 0; i < a->n; i++) {
			const struct annotate_func *f = &a->funcs[i];
			bool known = false;

			if (!matches(how, f->name, symbol) && (how != MATCH_WHOLE || strcmp(f->linkage, symbol)))
				continue;
			/* Names are interned, so equal names have equal pointers. */
			for (size_t k = 0; k < n && !known; k++)
				known = a->funcs[found[k]].name == f->name;
			*names += !known;
			found[n++] = i;
		}
	}
	*out = found;
	return n;
}

static bool is_called(const char *name, const char *symbol)
{
	return matches(MATCH_WHOLE, name, symbol) || matches(MATCH_NO_PARAMETERS, name, symbol);
}

/* The frame of location @id with the name @symbol; -1: none. */
static int64_t frame_called(const struct annotate *a, size_t id, const char *symbol)
{
	const struct named *nd = &a->nm->named[id];

	for (uint32_t k = 0; k < nd->n; k++)
		if (is_called(frame_name(a->nm, id, k), symbol))
			return k;
	return -1;
}

struct host {
	const char *name;
	uint64_t samples;
};

static int most_first(const void *pa, const void *pb)
{
	const struct host *a = pa, *b = pb;

	return a->samples != b->samples ? (a->samples > b->samples ? -1 : 1) : strcmp(a->name, b->name);
}

uint64_t annotate_inlined(const struct annotate *a, const char *symbol, struct strbuf *into)
{
	struct u64map index = U64MAP_INIT;
	struct host *hosts = NULL;
	size_t n = 0, cap = 0;
	uint64_t all = 0;

	for (size_t id = 0; id < a->nm->nlocs; id++) {
		const struct named *nd = &a->nm->named[id];
		int64_t k = a->leaf[id] ? frame_called(a, id, symbol) : -1;
		uint64_t *slot;
		bool is_new;

		if (k < 0 || a->nm->frames[nd->first + (uint32_t)k].kind != PROFILE_INLINED)
			continue;
		slot = u64map_put(&index, a->nm->ids[nd->first + nd->n - 1], &is_new);
		if (is_new) {
			*slot = n;
			XGROW(hosts, n, cap);
			hosts[n++] = (struct host){ frame_name(a->nm, id, nd->n - 1), 0 };
		}
		hosts[*slot].samples += a->leaf[id];
		all += a->leaf[id];
	}
	if (n)
		qsort(hosts, n, sizeof(*hosts), most_first);
	for (size_t i = 0; i < n && i < INTO_SHOWN; i++)
		strbuf_addf(into, "%s'%s' (%" PRIu64 ")", i ? ", " : "", hosts[i].name, hosts[i].samples);
	if (n > INTO_SHOWN)
		strbuf_addf(into, " and %zu more", n - INTO_SHOWN);
	free(hosts);
	u64map_fini(&index);
	return all;
}

enum annotate_else annotate_else(const struct annotate *a, const char *symbol, uint64_t *samples)
{
	enum annotate_else what = ANNOTATE_NOTHING;

	*samples = 0;
	for (size_t id = 0; id < a->nm->nlocs; id++) {
		const struct named *nd = &a->nm->named[id];
		int64_t k = a->leaf[id] ? frame_called(a, id, symbol) : -1;

		if (k < 0)
			continue;
		*samples += a->leaf[id];
		switch (a->nm->frames[nd->first + (uint32_t)k].kind) {
		case PROFILE_KERNEL:
			what = ANNOTATE_KERNEL;
			break;
		case PROFILE_JIT:
			what = ANNOTATE_JIT;
			break;
		case PROFILE_INLINED:
			what = ANNOTATE_INLINED;
			break;
		default:
			what = ANNOTATE_UNNAMED;
		}
	}
	return what;
}

static void move_counts(struct u64map *to, struct u64map *from)
{
	uint64_t at, n;
	size_t it = 0;

	while (u64map_next(from, &it, &at, &n))
		*u64map_put(to, at, NULL) += n;
	u64map_clear(from);
}

void annotate_join(struct annotate_func *to, struct annotate_func *from)
{
	move_counts(&to->at, &from->at);
	move_counts(&to->weight_at, &from->weight_at);
	move_counts(&to->entered, &from->entered);
	move_counts(&to->weight_entered, &from->weight_entered);
	to->samples += from->samples;
	to->weight += from->weight;
	to->own += from->own;
	to->twins += 1 + from->twins;
	from->samples = from->weight = from->own = 0;
}
