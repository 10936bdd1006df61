/*
 * Functions of a compilation unit and what is inlined into them (DWARF 5, 3.3.1 and 3.3.8). Each
 * tree is walked once, by our own reader or, if that does not support the unit, by libdw. Walks
 * only go forward in the file: otherwise, DW_AT_sibling of a hostile file could turn few entries
 * into a huge tree.
 */
#include "debuginfo/inlines_cu.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/inlines_source.h"
#include "debuginfo/inlines_split.h"
#include "dwarf/dies_walk.h"

/* Maximum depth of the tree. Optimizers stop inlining long before. */
#define DEPTH_MAX	256
/*
 * Maximum number of abstract_origin and specification links followed for a name; real files have
 * two or three.
 */
#define HOPS_MAX	16

/* ---- the file ---- */

/* Our reader, set to @die's unit; NULL: libdw has to read it. */
static struct dies *unit_dies(struct inline_source *src, Dwarf_Die *die)
{
	uint64_t off = dwarf_dieoffset(die);
	Elf_Data *data = NULL;
	Elf_Scn *scn;
	GElf_Shdr sh;

	/* In packages, abbreviations are in pieces. */
	if (src->split)
		return NULL;
	if (!src->dies) {
		src->dies = dies_new();
		scn = inline_section(src->dw, ".debug_info", &sh);
		src->secs.info_size = scn && !(sh.sh_flags & SHF_COMPRESSED) ? sh.sh_size : 0;
		scn = inline_section(src->dw, ".debug_abbrev", &sh);
		if (scn && !(sh.sh_flags & SHF_COMPRESSED))
			data = elf_rawdata(scn, NULL);
		if (data && data->d_buf) {
			src->secs.abbrev = data->d_buf;
			src->secs.abbrev_size = data->d_size;
		}
	}
	src->secs.info = (const uint8_t *)die->addr - off;
	return dies_unit(src->dies, &src->secs, off - dwarf_cuoffset(die)) ? NULL : src->dies;
}

/* ---- a forward walk ---- */

struct walk {
	struct dies_walk in;		/* in.dies NULL: libdw reads, and @path leads to the entry */
	uint32_t node[DEPTH_MAX];	/* inline node around it, by depth; inline_func_walk() only */
	Dwarf_Die path[DEPTH_MAX];
};

/* Makes the last entry of the path the current one. */
static void walk_look(struct walk *w)
{
	Dwarf_Die *die;
	uint64_t off;

	if (!w->in.depth)
		return;
	die = &w->path[w->in.depth - 1];
	off = dwarf_dieoffset(die);
	if (off <= w->in.at.off)
		w->in.depth = 0;
	w->in.at = (struct die){ .off = off, .tag = (uint32_t)dwarf_tag(die), .has_code = true };
}

/* Moves to the first child of @top. */
static void walk_start(struct walk *w, struct inline_source *src, Dwarf_Die *top)
{
	const struct dies *dies = unit_dies(src, top);

	w->node[0] = INLINE_OUTERMOST;
	if (dies) {
		dies_walk_start(&w->in, dies, dwarf_dieoffset(top));
		return;
	}
	w->in = (struct dies_walk){ .at = { .off = dwarf_dieoffset(top) } };
	w->in.depth = dwarf_child(top, &w->path[0]) == 0;
	walk_look(w);
}

/*
 * Moves to the first child of the current entry (@into), or to the next entry after it. @node: see
 * struct walk.
 */
static void walk_next(struct walk *w, bool into, uint32_t node)
{
	Dwarf_Die next;

	into = into && w->in.depth < DEPTH_MAX;
	if (into)
		w->node[w->in.depth] = node;
	if (w->in.dies) {
		dies_walk_next(&w->in, into);
		return;
	}
	if (into && dwarf_child(&w->path[w->in.depth - 1], &next) == 0) {
		w->path[w->in.depth++] = next;
	} else {
		while (w->in.depth && dwarf_siblingof(&w->path[w->in.depth - 1], &next) != 0)
			w->in.depth--;
		if (w->in.depth)
			w->path[w->in.depth - 1] = next;
	}
	walk_look(w);
}

/* ---- functions ---- */

/*
 * Debug info of functions that the linker dropped points to 0, 1 or the top of the address space,
 * and would cover what really is there.
 */
static void add_range(struct inline_source *src, uint64_t start, uint64_t end, struct ranges *out, uint32_t id)
{
	src->ranges_left--;
	if (start > 1 && end > start && elf_file_code_end(src->code, start))
		ranges_add(out, start, end, id);
}

size_t inline_die_ranges(struct inline_source *src, Dwarf_Die *die, struct ranges *out, uint32_t id)
{
	Dwarf_Addr base, start, end;
	size_t before = out->n;
	ptrdiff_t off = 0;

	if (src->split && inline_split_ranges(src->split, die, out, id))
		return out->n - before;
	while (src->ranges_left && (off = dwarf_ranges(die, off, &base, &start, &end)) > 0)
		add_range(src, start, end, out, id);
	return out->n - before;
}

/* The same for the current entry of @w. */
static size_t walk_ranges(const struct walk *w, struct inline_source *src, struct ranges *out, uint32_t id)
{
	size_t before = out->n;
	Dwarf_Die die;

	if (!w->in.at.has_code)
		return 0;
	if (w->in.at.high <= w->in.at.low)
		return dwarf_offdie(src->dw, w->in.at.off, &die) ? inline_die_ranges(src, &die, out, id) : 0;
	if (src->ranges_left)
		add_range(src, w->in.at.low, w->in.at.high, out, id);
	return out->n - before;
}

static void add_func(const struct walk *w, struct inline_source *src, struct inline_cu *cu)
{
	if (!walk_ranges(w, src, &cu->ranges, (uint32_t)cu->nfuncs))
		return;
	XGROW(cu->funcs, cu->nfuncs, cu->cap);
	cu->funcs[cu->nfuncs++] = (struct inline_func){ .die = w->in.at.off, .ranges = RANGES_INIT };
}

static void drop_funcs(struct inline_cu *cu)
{
	for (size_t i = 0; i < cu->nfuncs; i++) {
		ranges_fini(&cu->funcs[i].ranges);
		free(cu->funcs[i].nodes);
	}
	free(cu->funcs);
	cu->funcs = NULL;
	cu->nfuncs = cu->cap = 0;
	ranges_fini(&cu->ranges);
}

void inline_cu_list(struct inline_source *src, struct inline_cu *cu, bool deep)
{
	struct walk *w = xmalloc(sizeof(*w));
	Dwarf_Die top;

	drop_funcs(cu);
	cu->listed = true;
	cu->listed_deep = deep;
	if (dwarf_offdie(src->dw, src->split ? inline_split_top(src->split) : cu->die, &top)) {
		for (walk_start(w, src, &top); w->in.depth;
		     walk_next(w, die_holds_functions(w->in.at.tag, deep), INLINE_OUTERMOST))
			if (w->in.at.tag == DW_TAG_subprogram)
				add_func(w, src, cu);
	}
	free(w);
	ranges_flatten(&cu->ranges);
}

void inline_cu_fini(struct inline_cu *cu)
{
	drop_funcs(cu);
	linetable_free(cu->lines);
	inline_split_free(cu->split);
}

/* ---- lines ---- */

/*
 * DW_AT_stmt_list of @die, read from its raw bytes: libdw refuses it if its handle has no
 * .debug_line. libdw does not check that the attribute lies inside the section, so that is
 * checked here.
 */
static uint64_t line_offset(struct inline_source *src, Dwarf_Die *die)
{
	uint8_t width = 4;
	Dwarf_Attribute attr;
	struct cursor c;
	uint64_t at;
	Dwarf_Die cu;

	if (!dwarf_attr(die, DW_AT_stmt_list, &attr))
		return UINT64_MAX;
	switch (dwarf_whatform(&attr)) {
	case DW_FORM_sec_offset:
		dwarf_diecu(die, &cu, NULL, &width);
		break;
	case DW_FORM_data4:
		break;
	case DW_FORM_data8:
		width = 8;
		break;
	default:
		return UINT64_MAX;
	}
	at = dwarf_dieoffset(die) + (uint64_t)(attr.valp - (unsigned char *)die->addr);
	if (at + width > src->info_size)
		return UINT64_MAX;
	cursor_init(&c, attr.valp, width);
	return width == 8 ? cursor_u64(&c) : cursor_u32(&c);
}

const struct linetable *inline_cu_lines(struct inline_source *src, struct inline_cu *cu)
{
	Dwarf_Die die;
	GElf_Shdr sh;

	if (cu->lines)
		return cu->lines;
	inline_source_lines(src);
	if (!src->info_size && inline_section(src->dw, ".debug_info", &sh))
		src->info_size = sh.sh_size;
	/* UINT64_MAX is in no section, which gives an empty table. */
	cu->lines = linetable_new(&src->lines,
				  dwarf_offdie(src->dw, cu->die, &die) ?
					  line_offset(src, &die) : UINT64_MAX,
				  &src->rows_left);
	return cu->lines;
}

static uint64_t number_attr(Dwarf_Die *die, unsigned int at)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr(die, at, &attr) && !dwarf_formudata(&attr, &v) ? v : 0;
}

void inline_node_call(struct inline_source *src, const struct inline_node *node, uint64_t *file,
		      uint32_t *line)
{
	uint64_t n;
	Dwarf_Die die;

	*file = UINT64_MAX;
	*line = 0;
	if (!dwarf_offdie(src->dw, node->die, &die))
		return;
	*file = number_attr(&die, DW_AT_call_file);
	n = number_attr(&die, DW_AT_call_line);
	*line = n > UINT32_MAX ? 0 : (uint32_t)n;
}

/* ---- inlined functions ---- */

/* Adds the intersection of @a and @b, both flattened, to @out with @id. */
static void intersect(const struct ranges *a, const struct ranges *b, struct ranges *out,
		      uint32_t id)
{
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n) {
		ranges_add(out, MAX(a->v[i].start, b->v[k].start), MIN(a->v[i].end, b->v[k].end),
			   id);
		if (a->v[i].end < b->v[k].end)
			i++;
		else
			k++;
	}
}

/*
 * Adds a node for the current entry of @w below node @parent. An inlined function is limited to the
 * ranges of what it is inlined into, so the deepest node at an address is the innermost. Returns
 * INLINE_OUTERMOST if no range is left. @own: ranges by node, for later children.
 */
static uint32_t add_node(const struct walk *w, struct inline_source *src, struct inline_func *fn,
			 uint32_t parent, const struct ranges *whole, struct ranges **own,
			 size_t *own_cap)
{
	struct ranges stated = RANGES_INIT, held = RANGES_INIT;
	uint32_t id = (uint32_t)fn->nnodes;

	walk_ranges(w, src, &stated, 0);
	ranges_flatten(&stated);
	intersect(&stated, parent == INLINE_OUTERMOST ? whole : &(*own)[parent], &held, id);
	ranges_fini(&stated);
	if (!held.n)
		return INLINE_OUTERMOST;
	for (size_t i = 0; i < held.n; i++)
		ranges_add(&fn->ranges, held.v[i].start, held.v[i].end, id);
	XGROW(fn->nodes, fn->nnodes, fn->cap);
	fn->nodes[fn->nnodes] =
		(struct inline_node){ .die = w->in.at.off, .parent = parent };
	XGROW(*own, fn->nnodes, *own_cap);
	(*own)[fn->nnodes++] = held;
	return id;
}

void inline_func_walk(struct inline_source *src, struct inline_func *fn)
{
	struct ranges whole = RANGES_INIT, *own = NULL;
	struct walk *w = xmalloc(sizeof(*w));
	size_t own_cap = 0;
	Dwarf_Die top;

	fn->walked = true;
	if (dwarf_offdie(src->dw, fn->die, &top)) {
		inline_die_ranges(src, &top, &whole, 0);
		ranges_flatten(&whole);
		walk_start(w, src, &top);
		while (w->in.depth) {
			uint32_t node = w->node[w->in.depth - 1];
			bool into = false;

			switch (w->in.at.tag) {
			case DW_TAG_inlined_subroutine:
				node = add_node(w, src, fn, node, &whole, &own, &own_cap);
				into = node != INLINE_OUTERMOST;
				break;
			case DW_TAG_lexical_block:
			case DW_TAG_try_block:
			case DW_TAG_catch_block:
			case DW_TAG_with_stmt:
				into = true;
				break;
			}
			walk_next(w, into, node);
		}
	}
	for (size_t i = 0; i < fn->nnodes; i++)
		ranges_fini(&own[i]);
	free(own);
	free(w);
	ranges_fini(&whole);
	ranges_flatten(&fn->ranges);
}

/* ---- names ---- */

/*
 * True for attributes that point into the dwz file. If that file is missing, libdw must not resolve
 * them: it would open the path that the file states, even a pipe or a device.
 */
static bool is_alt_form(Dwarf_Attribute *attr)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_strp_sup:
		return true;
	default:
		return false;
	}
}

static const char *string_attr(struct inline_source *src, Dwarf_Die *die, unsigned int at)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, at, &attr) || (is_alt_form(&attr) && !src->alt))
		return NULL;
	return inline_text(src, &attr);
}

/* Does @attr refer to an entry of its own unit? */
static bool is_local_ref(Dwarf_Attribute *attr)
{
	switch (dwarf_whatform(attr)) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return true;
	default:
		return false;
	}
}

static bool ref_attr(struct inline_source *src, Dwarf_Die *die, unsigned int at, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, at, &attr) || (is_alt_form(&attr) && !src->alt))
		return false;
	/* Only the current unit is known to be unpacked. */
	if (src->file && !is_local_ref(&attr))
		elf_file_need_info(src->file, 0, UINT64_MAX);
	return dwarf_formref_die(&attr, out) != NULL;
}

/*
 * DWARF 5, 3.3.8.2 and 2.13.2: the name is often not at the entry itself, but at the one it refers
 * to.
 */
static const char *die_name(struct inline_source *src, Dwarf_Die *die)
{
	const char *plain = NULL, *linkage;

	for (int hop = 0; hop < HOPS_MAX; hop++) {
		Dwarf_Die next;

		linkage = string_attr(src, die, DW_AT_linkage_name);
		if (!linkage)
			linkage = string_attr(src, die, DW_AT_MIPS_linkage_name);
		if (linkage && linkage[0])
			return linkage;
		if (!plain)
			plain = string_attr(src, die, DW_AT_name);
		if (!ref_attr(src, die, DW_AT_abstract_origin, &next) &&
		    !ref_attr(src, die, DW_AT_specification, &next))
			break;
		*die = next;
	}
	return plain && plain[0] ? plain : NULL;
}

const char *inline_func_name(struct inline_source *src, const struct inline_func *fn)
{
	Dwarf_Die die, unit;
	const char *name;

	if (!dwarf_offdie(src->dw, fn->die, &die))
		return NULL;
	/*
	 * GHC's linkage name is a label of one compilation ("r2YJ_info"); the plain name is that of
	 * the source.
	 */
	if (dwarf_diecu(&die, &unit, NULL, NULL) && dwarf_srclang(&unit) == DW_LANG_Haskell) {
		name = string_attr(src, &die, DW_AT_name);
		if (name && name[0])
			return name;
	}
	return die_name(src, &die);
}

const char *inline_node_name(struct inline_source *src, struct inline_node *node)
{
	Dwarf_Die die;

	if (!node->named) {
		node->named = true;
		if (dwarf_offdie(src->dw, node->die, &die))
			node->name = die_name(src, &die);
	}
	return node->name;
}
