/*
 * Follows inlines.c step by step, so that both give the same answers: .debug_aranges or the ranges of
 * units lead to a unit, its functions are listed, and the last one that claims an address counts.
 * Where the two could differ because dwarf_input does not read something, there is no name.
 */
#include "capture/dwarf_names.h"

#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/ranges.h"
#include "base/xalloc.h"
#include "capture/dwarf_input.h"
#include "dwarf/dies.h"
#include "dwarf/dies_walk.h"
#include "elf/elf_file.h"

/* Functions listed per file. */
#define FUNCS_MAX	(1u << 18)
/* What a unit costs in itself, in bytes of entries. */
#define UNIT_COST	64
/* As in inlines_cu.c. */
#define HOPS_MAX	16

enum unit_state { UNIT_NEW, UNIT_LISTED, UNIT_LISTED_DEEP, UNIT_UNUSABLE };

struct unit {
	uint64_t off;		/* in .debug_info */
	enum unit_state state;
	struct ranges ranges;	/* svma -> index of funcs */
	uint64_t *funcs;	/* owned; offsets of their entries */
	size_t nfuncs, cap;
};

struct dwarf_names {
	struct dwarf_input in;
	bool mapped;
	struct ranges unit_ranges;	/* svma -> offset of the unit */
	struct unit *units;	/* owned; those that were looked at */
	size_t nunits, cap;
	struct u64map unit_at;	/* offset -> index of units */
	size_t funcs_left;
};

struct dwarf_names *dwarf_names_new(struct elf_file *ef)
{
	struct dwarf_names *dn = xcalloc(1, sizeof(*dn));

	dwarf_input_init(&dn->in, ef);
	dn->funcs_left = FUNCS_MAX;
	return dn;
}

void dwarf_names_free(struct dwarf_names *dn)
{
	if (!dn)
		return;
	for (size_t i = 0; i < dn->nunits; i++) {
		ranges_fini(&dn->units[i].ranges);
		free(dn->units[i].funcs);
	}
	free(dn->units);
	u64map_fini(&dn->unit_at);
	ranges_fini(&dn->unit_ranges);
	dwarf_input_fini(&dn->in);
	free(dn);
}

/* ---- units ---- */

/* The unit with the header at @off. Valid until the next call. */
static struct unit *unit_of(struct dwarf_names *dn, uint64_t off)
{
	bool is_new;
	uint64_t *slot = u64map_put(&dn->unit_at, off, &is_new);

	if (is_new) {
		*slot = dn->nunits;
		XGROW(dn->units, dn->nunits, dn->cap);
		dn->units[dn->nunits++] = (struct unit){ .off = off, .ranges = RANGES_INIT };
	}
	return &dn->units[*slot];
}

static bool list(struct dwarf_names *dn, struct unit *u, bool deep)
{
	struct dwarf_input *in = &dn->in;
	struct dies_walk w;

	ranges_fini(&u->ranges);
	u->nfuncs = 0;
	if (!dwarf_input_select(in, u->off) || !dwarf_input_spend(in, dies_end(in->dies) - u->off + UNIT_COST))
		return false;
	for (dies_walk_start(&w, in->dies, dies_top(in->dies)); w.depth;
	     dies_walk_next(&w, die_holds_functions(w.at.tag, deep))) {
		const size_t had = u->ranges.n;

		if (w.at.tag != DW_TAG_subprogram)
			continue;
		if (!dwarf_input_code(in, &w.at, &u->ranges, (uint32_t)u->nfuncs))
			return false;
		if (u->ranges.n == had)
			continue;
		if (!dn->funcs_left)
			return false;
		dn->funcs_left--;
		XGROW(u->funcs, u->nfuncs, u->cap);
		u->funcs[u->nfuncs++] = w.at.off;
	}
	ranges_flatten(&u->ranges);
	return true;
}

static void list_unit(struct dwarf_names *dn, struct unit *u, bool deep)
{
	u->state = deep ? UNIT_LISTED_DEEP : UNIT_LISTED;
	if (list(dn, u, deep))
		return;
	ranges_fini(&u->ranges);
	u->state = UNIT_UNUSABLE;
}

/* The function of @u at @svma; NULL: there is none, or @u is unusable. */
static const struct range *func_in(struct dwarf_names *dn, struct unit *u, uint64_t svma)
{
	const struct range *r;

	if (u->state == UNIT_NEW)
		list_unit(dn, u, false);
	r = ranges_find(&u->ranges, svma);
	if (r || u->state != UNIT_LISTED)
		return r;
	list_unit(dn, u, true);
	return ranges_find(&u->ranges, svma);
}

/* For addresses that no unit in .debug_aranges has: clang writes none. */
static void map_units(struct dwarf_names *dn)
{
	struct dwarf_input *in = &dn->in;
	struct ranges *all = &dn->unit_ranges;
	uint64_t off = 0;
	struct die top;

	dn->mapped = true;
	while (off < in->secs.info_size) {
		const bool usable = dwarf_input_select(in, off);
		const uint64_t end = dies_end(in->dies);

		if (end <= off || !dwarf_input_spend(in, UNIT_COST))
			break;
		/* The first unit that claims an address wins: the highest id. */
		if (usable && dies_read(in->dies, dies_top(in->dies), &top) && top.tag == DW_TAG_compile_unit) {
			if (!dwarf_input_spend(in, top.behind - top.off))
				break;
			dwarf_input_code(in, &top, all, UINT32_MAX - (uint32_t)off);
			if (in->spent || !in->ranges_left)
				break;
		}
		off = end;
	}
	ranges_flatten(all);
	for (size_t i = 0; i < all->n; i++)
		all->v[i].id = UINT32_MAX - all->v[i].id;
}

/* Finds the unit and the function at @svma, as find_unit() in inlines.c does. NULL: none. */
static const struct range *find_func(struct dwarf_names *dn, uint64_t svma, struct unit **u)
{
	const struct range *r = ranges_find(&dn->in.aranges, svma);

	if (r) {
		*u = unit_of(dn, r->id);
		r = func_in(dn, *u, svma);
		if (r || (*u)->state == UNIT_UNUSABLE)
			return r;
	}
	if (!dn->mapped)
		map_units(dn);
	r = ranges_find(&dn->unit_ranges, svma);
	if (!r)
		return NULL;
	*u = unit_of(dn, r->id);
	return func_in(dn, *u, svma);
}

/* ---- names ---- */

/* die_name() of inlines_cu.c. NULL: none, or one that is not read here. */
static const char *entry_name(struct dwarf_input *in, uint64_t off)
{
	const char *plain = NULL, *linkage;
	struct die_value v;

	for (int hop = 0; hop < HOPS_MAX; hop++) {
		if (!dwarf_input_text(in, off, DW_AT_linkage_name, &linkage) ||
		    (!linkage && !dwarf_input_text(in, off, DW_AT_MIPS_linkage_name, &linkage)))
			return NULL;
		if (linkage && linkage[0])
			return linkage;
		if (!plain && !dwarf_input_text(in, off, DW_AT_name, &plain))
			return NULL;
		if (!dwarf_input_attr(in, off, DW_AT_abstract_origin, &v) && !dwarf_input_attr(in, off, DW_AT_specification, &v))
			break;
		if (!v.local_ref)
			return NULL;
		off = v.num;
	}
	return plain && plain[0] ? plain : NULL;
}

/* inline_func_name() of inlines_cu.c, for the entry at @off of the selected unit. */
static const char *func_name(struct dwarf_input *in, uint64_t off)
{
	struct die_value v;
	const char *name;

	/* GHC's linkage names are labels of one compilation. */
	if (dwarf_input_attr(in, dies_top(in->dies), DW_AT_language, &v) && v.num == DW_LANG_Haskell) {
		if (!dwarf_input_text(in, off, DW_AT_name, &name))
			return NULL;
		if (name && name[0])
			return name;
	}
	return entry_name(in, off);
}

bool dwarf_names_find(void *dwarf_names, uint64_t svma, struct elf_sym *out)
{
	struct dwarf_names *dn = dwarf_names;
	struct dwarf_input *in = &dn->in;
	const struct range *r;
	struct unit *u;
	const char *name;

	if (!elf_file_code_end(in->ef, svma) || elf_file_in_plt(in->ef, svma) || !dwarf_input_open(in))
		return false;
	r = find_func(dn, svma, &u);
	if (!r || !dwarf_input_select(in, u->off))
		return false;
	name = func_name(in, u->funcs[r->id]);
	if (!name || in->spent)
		return false;
	*out = (struct elf_sym){
		.svma = r->start, .size = r->end - r->start, .name = name, .type = STT_FUNC, .bind = STB_LOCAL,
	};
	return true;
}
