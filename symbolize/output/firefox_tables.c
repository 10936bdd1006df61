/* Tables of a processed profile (firefox_tables.h). */
#include "output/firefox_tables.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/json.h"
#include "debuginfo/inlines.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "naming/naming.h"
#include "replay/collect.h"

enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_JIT };
enum { SUBCATEGORY_OTHER, SUBCATEGORY_INLINED };	/* subcategories of CATEGORY_USER */
enum { RESOURCE_LIBRARY = 1 };

struct tabling {
	struct firefox_tables *ft;
	const struct collect *col;
	const struct naming *nm;
};

static int64_t text(struct tabling *t, const char *s)
{
	return intern_add(t->ft->strings, s);
}

/* ---- functions and where they are from ---- */

static int64_t lib_of(struct tabling *t, const struct location *loc, uint32_t dso)
{
	struct firefox_tables *ft = t->ft;
	const bool binary = loc->kind == LOC_FILE || loc->kind == LOC_NOELF;
	const char *path = intern_str(t->nm->names, dso), *slash = strrchr(path, '/');
	bool is_new;
	uint64_t *slot;

	if (!dso)
		return -1;
	/* Two containers may have different files under one path. */
	slot = u64map_put(&ft->lib_index, binary ? 1ull << 32 | loc->mod->id : dso, &is_new);
	if (is_new) {
		*slot = ft->nlibs;
		XGROW(ft->libs, ft->nlibs, ft->libs_cap);
		ft->libs[ft->nlibs++] = (struct firefox_lib){
			.path = text(t, path), .name = text(t, slash ? slash + 1 : path), .mod = binary ? loc->mod : NULL,
		};
	}
	return (int64_t)*slot;
}

/* Returns the source file of @line "file.c:12"; *@number is FIREFOX_NULL if there is none. */
static int64_t source_of(struct tabling *t, uint32_t line, int64_t *number)
{
	struct firefox_tables *ft = t->ft;
	const char *s = intern_str(t->nm->names, line), *colon = strrchr(s, ':');
	uint64_t *slot;
	bool is_new;
	char *file;
	int64_t id;

	*number = FIREFOX_NULL;
	if (!colon)
		return FIREFOX_NULL;
	*number = (int64_t)strtoul(colon + 1, NULL, 10);
	file = xstrndup(s, (size_t)(colon - s));
	id = text(t, file);
	free(file);
	slot = u64map_put(&ft->source_index, (uint64_t)id, &is_new);
	if (is_new) {
		*slot = ft->nsources;
		XGROW(ft->sources, ft->nsources, ft->sources_cap);
		ft->sources[ft->nsources++] = id;
	}
	return (int64_t)*slot;
}

static int64_t func_of(struct tabling *t, const struct firefox_func *f)
{
	struct firefox_tables *ft = t->ft;
	const uint64_t place = (uint64_t)(f->resource + 1) << 32 | (f->source == FIREFOX_NULL ? 0 : (uint64_t)f->source + 1);
	uint64_t *slot, number;
	bool is_new;

	slot = u64map_put(&ft->places, place, &is_new);
	if (is_new)
		*slot = ft->places.n;
	number = *slot;
	slot = u64map_put(&ft->func_index, number << 32 | (uint64_t)f->name, &is_new);
	if (is_new) {
		*slot = ft->nfuncs;
		XGROW(ft->funcs, ft->nfuncs, ft->funcs_cap);
		ft->funcs[ft->nfuncs++] = *f;
	}
	return (int64_t)*slot;
}

/* ---- addresses ---- */

/*
 * Computes the profiler's addresses of @loc and of the symbol that contains it, relative to the
 * lowest address that the file is linked for. A recording's slice does not tell that one. False:
 * unknown; @sym->name is NULL if only the symbol is unknown.
 */
static bool address_of(const struct location *loc, uint64_t *address, struct symbol *sym)
{
	const struct elf_load *loads;
	uint64_t base = UINT64_MAX;
	struct svma at;
	size_t n;

	*sym = (struct symbol){ 0 };
	if (loc->kind != LOC_FILE || !loc->mod->elf || !elf_file_off_to_svma(loc->mod->elf, loc->off, &at.v))
		return false;
	n = elf_file_loads(loc->mod->elf, &loads);
	for (size_t i = 0; i < n; i++)
		base = MIN(base, loads[i].vaddr);
	if (at.v < base || at.v - base > INT64_MAX)
		return false;
	*address = at.v - base;
	if ((module_symbol(loc->mod, at, sym) && inlines_symbol(module_inlines(loc->mod), at, sym)) || sym->start < base || sym->end - sym->start > INT64_MAX)
		sym->name = NULL;
	sym->start -= base;
	sym->end -= base;
	return true;
}

static int64_t symbol_of(struct tabling *t, const struct symbol *sym, int64_t lib, int64_t name)
{
	struct firefox_tables *ft = t->ft;
	uint64_t *slot, number;
	bool is_new;

	slot = u64map_put(&ft->addresses, sym->start, &is_new);
	if (is_new)
		*slot = ft->addresses.n;
	number = *slot;
	slot = u64map_put(&ft->symbol_index, number << 32 | (uint64_t)lib, &is_new);
	if (is_new) {
		*slot = ft->nsymbols;
		XGROW(ft->symbols, ft->nsymbols, ft->symbols_cap);
		ft->symbols[ft->nsymbols++] = (struct firefox_symbol){
			.lib = lib, .address = (int64_t)sym->start, .name = name, .size = (int64_t)(sym->end - sym->start),
		};
	}
	return (int64_t)*slot;
}

/* ---- frames and stacks ---- */

static void set_category(struct firefox_frame *f, const struct location *loc, uint8_t kind)
{
	f->subcategory = kind == PROFILE_INLINED ? SUBCATEGORY_INLINED : SUBCATEGORY_OTHER;
	if (loc->kind == LOC_TEXT || loc->kind == LOC_PROCESS)
		f->category = CATEGORY_OTHER;
	else if (kind == PROFILE_KERNEL)
		f->category = CATEGORY_KERNEL;
	else
		f->category = kind == PROFILE_JIT ? CATEGORY_JIT : CATEGORY_USER;
}

/*
 * Adds rows for location @id: the function first, then what is inlined there. Returns the number of
 * the first.
 */
static size_t add_frames(struct tabling *t, uint32_t id)
{
	const struct location *loc = &t->col->locs.locs[id];
	const struct named *named = &t->nm->named[id];
	const uint32_t last = named->first + named->n - 1;
	struct firefox_tables *ft = t->ft;
	const size_t first = ft->nframes;
	int64_t lib = lib_of(t, loc, t->nm->frames[last].dso), symbol = FIREFOX_NULL;
	uint64_t address = 0;
	struct symbol sym;
	bool known = lib >= 0 && address_of(loc, &address, &sym);

	if (known && sym.name && named->source != NAME_NONE)
		symbol = symbol_of(t, &sym, lib, text(t, intern_str(t->nm->names, t->nm->ids[last])));
	for (uint32_t k = 0; k < named->n; k++) {
		const struct named_frame *nf = &t->nm->frames[last - k];
		struct firefox_func func = { text(t, intern_str(t->nm->names, t->nm->ids[last - k])), lib, 0 };
		struct firefox_frame f = { .address = known ? (int64_t)address : -1, .depth = k, .symbol = symbol };

		func.source = source_of(t, nf->line, &f.line);
		f.func = func_of(t, &func);
		set_category(&f, loc, nf->kind);
		XGROW(ft->frames, ft->nframes, ft->frames_cap);
		ft->frames[ft->nframes++] = f;
	}
	return first;
}

/*
 * Adds the stack of location @id below row @prefix; its frames begin at row @frame. Returns the
 * number of its last row.
 */
static int64_t add_stack(struct tabling *t, int64_t prefix, uint32_t id, size_t frame)
{
	const struct named *named = &t->nm->named[id];
	struct firefox_tables *ft = t->ft;

	for (uint32_t k = 0; k < named->n; k++, frame++) {
		const int64_t func = ft->frames[frame].func;

		/* Adjacent "[kernel]" frames become one. */
		if (t->nm->kernel_id && t->nm->ids[named->first + named->n - 1 - k] == t->nm->kernel_id &&
		    prefix != FIREFOX_NULL && ft->frames[ft->stacks[prefix].frame].func == func)
			continue;
		XGROW(ft->stacks, ft->nstacks, ft->stacks_cap);
		ft->stacks[ft->nstacks] = (struct firefox_stack){ (int64_t)frame, prefix };
		prefix = (int64_t)ft->nstacks++;
	}
	return prefix;
}

void firefox_tables_init(struct firefox_tables *ft, const struct collect *col, const struct naming *nm, uint32_t *nodes,
			 size_t n)
{
	const struct stacktree *tree = &col->tree;
	struct tabling t = { ft, col, nm };
	bool *wanted = xcalloc(tree->n, sizeof(*wanted));
	/* [location]: 0: not yet; otherwise row + 1 */
	size_t *frames = xcalloc(col->locs.n + 1, sizeof(*frames));
	int64_t *rows = xcalloc(tree->n, sizeof(*rows));		/* [node] */

	*ft = (struct firefox_tables){ .strings = intern_new() };
	for (size_t i = 0; i < n; i++)
		wanted[nodes[i]] = true;
	for (size_t i = tree->n; i-- > 1;)
		wanted[tree->nodes[i].parent] |= wanted[i];
	rows[STACKTREE_ROOT] = FIREFOX_NULL;
	for (size_t i = 1; i < tree->n; i++) {
		const struct stacknode *nd = &tree->nodes[i];

		if (!wanted[i])
			continue;
		if (!frames[nd->loc])
			frames[nd->loc] = add_frames(&t, nd->loc) + 1;
		rows[i] = add_stack(&t, rows[nd->parent], nd->loc, frames[nd->loc] - 1);
	}
	for (size_t i = 0; i < n; i++)
		nodes[i] = nodes[i] == STACKTREE_ROOT ? FIREFOX_NO_STACK : (uint32_t)rows[nodes[i]];
	free(wanted);
	free(frames);
	free(rows);
}

void firefox_tables_fini(struct firefox_tables *ft)
{
	intern_free(ft->strings);
	free(ft->stacks);
	free(ft->frames);
	free(ft->funcs);
	free(ft->symbols);
	free(ft->libs);
	free(ft->sources);
	u64map_fini(&ft->places);
	u64map_fini(&ft->func_index);
	u64map_fini(&ft->addresses);
	u64map_fini(&ft->symbol_index);
	u64map_fini(&ft->lib_index);
	u64map_fini(&ft->source_index);
}

/* ---- as JSON: a table is an object of columns ---- */

void firefox_put_categories(struct json *j)
{
	/* The first grey category is the profiler's default. */
	static const char *const categories[][3] = {
		[CATEGORY_OTHER] = { "Other", "grey", NULL }, [CATEGORY_USER] = { "User", "yellow", "Inlined" },
		[CATEGORY_KERNEL] = { "Kernel", "orange", NULL }, [CATEGORY_JIT] = { "JIT", "green", NULL },
	};

	json_begin_array(j, "categories");
	for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
		json_begin_object(j, NULL);
		json_str(j, "name", categories[i][0]);
		json_str(j, "color", categories[i][1]);
		json_begin_array(j, "subcategories");
		json_str(j, NULL, "Other");
		if (categories[i][2])
			json_str(j, NULL, categories[i][2]);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

/* Writes the values at @first and at every @step bytes after it. */
static void put_column(struct json *j, const char *key, const void *first, size_t n, size_t step)
{
	int64_t v;

	json_begin_array(j, key);
	for (size_t i = 0; i < n; i++) {
		memcpy(&v, (const char *)first + i * step, sizeof(v));
		if (v == FIREFOX_NULL)
			json_null(j, NULL);
		else
			json_i64(j, NULL, v);
	}
	json_end_array(j);
}

#define COLUMN(j, key, rows, n, field) put_column(j, key, (n) ? &(rows)->field : NULL, n, sizeof(*(rows)))

/* Writes a column with the same value in all rows. */
static void put_same(struct json *j, const char *key, int64_t value, size_t n)
{
	put_column(j, key, &value, n, 0);
}

static void put_false(struct json *j, const char *key, size_t n)
{
	json_begin_array(j, key);
	while (n--)
		json_bool(j, NULL, false);
	json_end_array(j);
}

static void put_funcs(struct json *j, const struct firefox_tables *ft)
{
	const size_t n = ft->nfuncs;

	json_begin_object(j, "funcTable");
	COLUMN(j, "name", ft->funcs, n, name);
	put_false(j, "isJS", n);
	put_false(j, "relevantForJS", n);
	COLUMN(j, "resource", ft->funcs, n, resource);
	COLUMN(j, "source", ft->funcs, n, source);
	put_same(j, "lineNumber", FIREFOX_NULL, n);
	put_same(j, "columnNumber", FIREFOX_NULL, n);
	json_u64(j, "length", n);
	json_end_object(j);
}

static void put_frames(struct json *j, const struct firefox_tables *ft)
{
	const size_t n = ft->nframes;

	json_begin_object(j, "frameTable");
	COLUMN(j, "address", ft->frames, n, address);
	COLUMN(j, "inlineDepth", ft->frames, n, depth);
	COLUMN(j, "category", ft->frames, n, category);
	COLUMN(j, "subcategory", ft->frames, n, subcategory);
	COLUMN(j, "func", ft->frames, n, func);
	COLUMN(j, "nativeSymbol", ft->frames, n, symbol);
	put_same(j, "innerWindowID", FIREFOX_NULL, n);
	COLUMN(j, "line", ft->frames, n, line);
	put_same(j, "column", FIREFOX_NULL, n);
	json_u64(j, "length", n);
	json_end_object(j);
}

static void put_places(struct json *j, const struct firefox_tables *ft)
{
	json_begin_object(j, "resourceTable");
	json_begin_array(j, "lib");
	for (size_t i = 0; i < ft->nlibs; i++)
		json_u64(j, NULL, i);
	json_end_array(j);
	COLUMN(j, "name", ft->libs, ft->nlibs, name);
	put_same(j, "host", FIREFOX_NULL, ft->nlibs);
	put_same(j, "type", RESOURCE_LIBRARY, ft->nlibs);
	json_u64(j, "length", ft->nlibs);
	json_end_object(j);

	json_begin_object(j, "nativeSymbols");
	COLUMN(j, "libIndex", ft->symbols, ft->nsymbols, lib);
	COLUMN(j, "address", ft->symbols, ft->nsymbols, address);
	COLUMN(j, "name", ft->symbols, ft->nsymbols, name);
	COLUMN(j, "functionSize", ft->symbols, ft->nsymbols, size);
	json_u64(j, "length", ft->nsymbols);
	json_end_object(j);

	json_begin_object(j, "sources");
	put_same(j, "uuid", FIREFOX_NULL, ft->nsources);
	put_column(j, "filename", ft->sources, ft->nsources, sizeof(*ft->sources));
	json_u64(j, "length", ft->nsources);
	json_end_object(j);
}

static void put_shared(struct json *j, const struct firefox_tables *ft)
{
	json_begin_object(j, "shared");
	json_begin_object(j, "stackTable");
	COLUMN(j, "frame", ft->stacks, ft->nstacks, frame);
	COLUMN(j, "prefix", ft->stacks, ft->nstacks, prefix);
	json_u64(j, "length", ft->nstacks);
	json_end_object(j);
	put_frames(j, ft);
	put_funcs(j, ft);
	put_places(j, ft);
	json_begin_array(j, "stringArray");
	for (uint32_t i = 0; i < intern_count(ft->strings); i++)
		json_str(j, NULL, intern_str(ft->strings, i));
	json_end_array(j);
	json_end_object(j);
}

/*
 * Writes the ids by which symbol servers know a binary: Breakpad's MDGUID of the first 16 bytes of
 * the build-id, with its first three fields byte-swapped, in capitals, and an age of 0. Source:
 * MakeGUID in Breakpad's linux/minidump_writer.
 */
static void put_ids(struct json *j, const uint8_t *id, size_t len)
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct strbuf guid = STRBUF_INIT, hex = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		strbuf_addf(&guid, "%02X", order[i] < len ? id[order[i]] : 0);
	strbuf_addc(&guid, '0');
	for (size_t i = 0; i < len; i++)
		strbuf_addf(&hex, "%02x", id[i]);
	json_str(j, "breakpadId", len ? guid.s : "");
	if (len)
		json_str(j, "codeId", hex.s);
	else
		json_null(j, "codeId");
	strbuf_fini(&guid);
	strbuf_fini(&hex);
}

void firefox_put_tables(struct json *j, const struct firefox_tables *ft, const char *arch)
{
	json_begin_array(j, "libs");
	for (size_t i = 0; i < ft->nlibs; i++) {
		const struct firefox_lib *lib = &ft->libs[i];
		const char *path = intern_str(ft->strings, (uint32_t)lib->path);
		const char *name = intern_str(ft->strings, (uint32_t)lib->name);

		json_begin_object(j, NULL);
		json_str(j, "arch", arch);
		json_str(j, "name", name);
		json_str(j, "path", path);
		json_str(j, "debugName", name);
		json_str(j, "debugPath", path);
		put_ids(j, lib->mod ? lib->mod->dso.build_id : NULL, lib->mod ? lib->mod->dso.build_id_len : 0);
		json_end_object(j);
	}
	json_end_array(j);
	put_shared(j, ft);
}
