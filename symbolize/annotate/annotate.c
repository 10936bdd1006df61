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

static void add_place(struct annotate *a, struct u64map *index, size_t id)
{
	const struct location *loc = &a->col->locs.locs[id];
	struct annotate_func *f;
	struct symbol sym;
	struct svma at;
	uint64_t *slot;
	bool is_new;

	if (!place_of(loc, &sym, &at))
		return;
	/* Names are owned by the symbol table: each symbol of a module has one pointer. */
	slot = u64map_put(index, hash_combine(hash_combine((uintptr_t)loc->mod, (uintptr_t)sym.name), sym.start), &is_new);
	if (is_new) {
		*slot = a->n;
		XGROW(a->funcs, a->n, a->cap);
		a->funcs[a->n++] = (struct annotate_func){
			.mod = loc->mod, .name = frame_name(a->nm, id, a->nm->named[id].n - 1),
			.linkage = sym.name, .start = sym.start, .end = sym.end,
		};
	}
	f = &a->funcs[*slot];
	f->samples += a->leaf[id];
	f->weight += a->leaf_weight[id];
	*u64map_put(&f->at, at.v, NULL) += a->leaf[id];
	*u64map_put(&f->weight_at, at.v, NULL) += a->leaf_weight[id];
}

void annotate_init(struct annotate *a, const struct collect *col, const struct naming *nm)
{
	struct u64map index = U64MAP_INIT;

	*a = (struct annotate){ .col = col, .nm = nm, .period = collect_periods_vary(col, col->opts.event) };
	a->leaf = xcalloc(nm->nlocs ? nm->nlocs : 1, sizeof(*a->leaf));
	a->leaf_weight = xcalloc(nm->nlocs ? nm->nlocs : 1, sizeof(*a->leaf_weight));
	for (size_t i = 1; i < col->tree.n; i++) {
		const struct stacknode *nd = &col->tree.nodes[i];
		const uint64_t weight = a->period ? nd->period : nd->samples;

		a->leaf[nd->loc] += nd->samples;
		a->leaf_weight[nd->loc] += weight;
		a->weight += weight;
	}
	for (size_t id = 0; id < nm->nlocs; id++)
		if (a->leaf[id])
			add_place(a, &index, id);
	u64map_fini(&index);
	if (a->n)
		qsort(a->funcs, a->n, sizeof(*a->funcs), hottest_first);
}

static void func_fini(struct annotate_func *f)
{
	u64map_fini(&f->at);
	u64map_fini(&f->weight_at);
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
	to->samples += from->samples;
	to->weight += from->weight;
	to->twins += 1 + from->twins;
	from->samples = from->weight = 0;
}
