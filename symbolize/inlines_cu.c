/*
 * Functions of a compilation unit and what is inlined into them (DWARF 5, 3.3.1 and 3.3.8). Trees
 * are walked once and with a stack of our own. The walks go strictly forward in the file:
 * DW_AT_sibling of a hostile file could otherwise make few entries a tree of very many.
 */
#include "inlines_cu.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "inlines_split.h"
#include "util.h"
#include "xalloc.h"

/* Levels of the tree that are looked at. Optimizers stop inlining long before. */
#define DEPTH_MAX	256
/* abstract_origin and specification followed for a name; two or three in practice. */
#define HOPS_MAX	16

/* ---- a forward walk ---- */

struct walk {
	Dwarf_Die die[DEPTH_MAX];	/* the path to the entry that is looked at */
	uint32_t node[DEPTH_MAX];	/* inline node around die[i]; inline_func_walk() only */
	size_t depth;			/* 0: done */
	Dwarf_Off last;			/* offset of the latest entry */
};

static void walk_start(struct walk *w, Dwarf_Die *top)
{
	w->depth = 0;
	w->last = dwarf_dieoffset(top);
	w->node[0] = INLINE_OUTERMOST;
	if (dwarf_child(top, &w->die[0]) == 0)
		w->depth = 1;
}

/*
 * To the first child of the entry (@into) or else to the next one behind it. @node: see struct
 * walk.
 */
static void walk_next(struct walk *w, bool into, uint32_t node)
{
	Dwarf_Die next;

	if (into && w->depth < DEPTH_MAX && dwarf_child(&w->die[w->depth - 1], &next) == 0) {
		w->node[w->depth] = node;
		w->die[w->depth++] = next;
	} else {
		while (w->depth && dwarf_siblingof(&w->die[w->depth - 1], &next) != 0)
			w->depth--;
		if (w->depth)
			w->die[w->depth - 1] = next;
	}
}

/* The entry the walk is at, or NULL at its end. */
static Dwarf_Die *walk_at(struct walk *w)
{
	Dwarf_Die *die;
	Dwarf_Off off;

	if (!w->depth)
		return NULL;
	die = &w->die[w->depth - 1];
	off = dwarf_dieoffset(die);
	if (off <= w->last) {
		w->depth = 0;
		return NULL;
	}
	w->last = off;
	return die;
}

/* ---- functions ---- */

size_t inline_die_ranges(struct inline_source *src, Dwarf_Die *die, struct ranges *out, uint32_t id)
{
	Dwarf_Addr base, start, end;
	size_t before = out->n;
	ptrdiff_t off = 0;

	if (src->split && inline_split_ranges(src->split, die, out, id))
		return out->n - before;
	while (src->ranges_left && (off = dwarf_ranges(die, off, &base, &start, &end)) > 0) {
		src->ranges_left--;
		/*
		 * The debug info of functions that the linker left out points to 0, 1 or the top of
		 * the address space, and would cover what really is there.
		 */
		if (start > 1 && end > start && elf_file_code_end(src->code, start))
			ranges_add(out, start, end, id);
	}
	return out->n - before;
}

static void add_func(struct inline_source *src, struct inline_cu *cu, Dwarf_Die *die)
{
	if (!inline_die_ranges(src, die, &cu->ranges, (uint32_t)cu->nfuncs))
		return;
	XGROW(cu->funcs, cu->nfuncs, cu->cap);
	cu->funcs[cu->nfuncs] =
		(struct inline_func){ .die = dwarf_dieoffset(die), .ranges = RANGES_INIT };
	cu->nfuncs++;
}

static bool can_hold_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	/*
	 * Pascal, Ada, D, GNU C: functions in functions. Types hold declarations, with some
	 * exceptions.
	 */
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return deep;
	default:
		return false;
	}
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
	Dwarf_Die top, *die;

	drop_funcs(cu);
	cu->listed = true;
	cu->listed_deep = deep;
	if (dwarf_offdie(src->dw, src->split ? inline_split_top(src->split) : cu->die, &top)) {
		walk_start(w, &top);
		while ((die = walk_at(w))) {
			int tag = dwarf_tag(die);

			if (tag == DW_TAG_subprogram)
				add_func(src, cu, die);
			walk_next(w, can_hold_functions(tag, deep), INLINE_OUTERMOST);
		}
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

static void section_into(struct elf_file *ef, const char *name, struct linetable_bytes *out)
{
	if (elf_file_section(ef, name, &out->data, &out->size, NULL))
		*out = (struct linetable_bytes){ NULL, 0 };
}

/* Bytes of .debug_info as libdw reads it. */
static uint64_t info_size(Dwarf *dw)
{
	Elf *elf = dwarf_getelf(dw);
	Elf_Scn *scn = NULL;
	size_t shstrndx;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &shstrndx))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, shstrndx, sh.sh_name);
		if (name && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			return sh.sh_size;
	}
	return 0;
}

void inline_source_lines(struct inline_source *src)
{
	if (src->have_lines)
		return;
	src->have_lines = true;
	section_into(src->file, ".debug_line", &src->lines.line);
	section_into(src->file, ".debug_line_str", &src->lines.line_str);
	section_into(src->file, ".debug_str", &src->lines.str);
	src->lines.code = src->code;
}

/*
 * DW_AT_stmt_list of @die, its bytes as they are: libdw would refuse it where the handle it reads has
 * no .debug_line. That the attribute lies in the section is not checked before it is read.
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

	if (cu->lines)
		return cu->lines;
	inline_source_lines(src);
	if (!src->info_size)
		src->info_size = info_size(src->dw);
	/* An offset in no section gives an empty table. */
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

/* What @a and @b, both flattened, have in common goes to @out with @id. */
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
 * Node for @die below node @parent. An inlined function holds where what it is inlined into holds,
 * so that what is innermost at an address is what is deepest in the tree; a child that states more
 * is cut. INLINE_OUTERMOST when nothing is left. @own: ranges by node, for later children.
 */
static uint32_t add_node(struct inline_source *src, struct inline_func *fn, Dwarf_Die *die,
			 uint32_t parent, const struct ranges *whole, struct ranges **own,
			 size_t *own_cap)
{
	struct ranges stated = RANGES_INIT, held = RANGES_INIT;
	uint32_t id = (uint32_t)fn->nnodes;

	inline_die_ranges(src, die, &stated, 0);
	ranges_flatten(&stated);
	intersect(&stated, parent == INLINE_OUTERMOST ? whole : &(*own)[parent], &held, id);
	ranges_fini(&stated);
	if (!held.n)
		return INLINE_OUTERMOST;
	for (size_t i = 0; i < held.n; i++)
		ranges_add(&fn->ranges, held.v[i].start, held.v[i].end, id);
	XGROW(fn->nodes, fn->nnodes, fn->cap);
	fn->nodes[fn->nnodes] =
		(struct inline_node){ .die = dwarf_dieoffset(die), .parent = parent };
	XGROW(*own, fn->nnodes, *own_cap);
	(*own)[fn->nnodes++] = held;
	return id;
}

void inline_func_walk(struct inline_source *src, struct inline_func *fn)
{
	struct ranges whole = RANGES_INIT, *own = NULL;
	struct walk *w = xmalloc(sizeof(*w));
	size_t own_cap = 0;
	Dwarf_Die top, *die;

	fn->walked = true;
	if (dwarf_offdie(src->dw, fn->die, &top)) {
		inline_die_ranges(src, &top, &whole, 0);
		ranges_flatten(&whole);
		walk_start(w, &top);
		while ((die = walk_at(w))) {
			uint32_t node = w->node[w->depth - 1];
			bool into = false;

			switch (dwarf_tag(die)) {
			case DW_TAG_inlined_subroutine: {
				uint32_t id = add_node(src, fn, die, node, &whole, &own, &own_cap);

				into = id != INLINE_OUTERMOST;
				node = id;
				break;
			}
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
 * True for attributes that point into the dwz file. When it is not there libdw must not be asked
 * for them: it would open the path that the file states, be it a pipe or a device.
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

const char *inline_text(struct inline_source *src, Dwarf_Attribute *attr)
{
	const char *s = dwarf_formstring(attr);

	if (src->file)
		elf_file_text(src->file, s);
	if (src->alt)
		elf_file_text(src->alt, s);
	return s;
}

static const char *string_attr(struct inline_source *src, Dwarf_Die *die, unsigned int at)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, at, &attr) || (is_alt_form(&attr) && !src->alt))
		return NULL;
	return inline_text(src, &attr);
}

/* Does @attr lead to an entry of its own unit? */
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
	/* Only the unit that was asked for is known to be there. */
	if (src->file && !is_local_ref(&attr))
		elf_file_need_info(src->file, 0, UINT64_MAX);
	return dwarf_formref_die(&attr, out) != NULL;
}

/* DWARF 5, 3.3.8.2 and 2.13.2: the entry itself says little, what it stands for says more. */
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
