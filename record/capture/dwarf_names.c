/*
 * Follows inlines.c step by step, so that both give the same answers: .debug_aranges or the ranges of
 * units lead to a unit, its functions are listed, and the last one that claims an address counts.
 * Where the two could differ because something is not read here, there is no name.
 */
#include "capture/dwarf_names.h"

#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/ranges.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "dwarf/aranges.h"
#include "dwarf/dies.h"
#include "dwarf/dies_walk.h"
#include "elf/elf_file.h"

/* Limits per file. Together they take less than 0.2 s and 64 MiB, whatever the file says. */
#define ROOM_MAX	(32u << 20)	/* bytes of all sections, packed and unpacked */
#define ARANGES_SIZE_MAX (4u << 20)	/* bytes of .debug_aranges */
#define ENTRIES_MAX	(48u << 20)	/* bytes of entries to walk through */
#define PARSED_MAX	(16u << 20)	/* bytes to read in dies_unit() and dies_attr() */
#define RANGES_MAX	(1u << 18)
#define FUNCS_MAX	(1u << 18)
/* What a unit costs in itself, in bytes of entries. */
#define UNIT_COST	64
/* Bytes; longer names are not read from symbol tables, either. */
#define NAME_SIZE_MAX	65536
/* As in inlines_cu.c. */
#define HOPS_MAX	16

enum section { INFO, ABBREV, ARANGES, STR, LINE_STR, RANGES, RNGLISTS, NSECTIONS };

static const char *const section_names[NSECTIONS] = {
	".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_str", ".debug_line_str", ".debug_ranges", ".debug_rnglists",
};

struct bytes {
	bool tried;
	const uint8_t *data;	/* borrowed from the file; NULL: none, or too large */
	size_t size;
};

enum unit_state { UNIT_NEW, UNIT_LISTED, UNIT_LISTED_DEEP, UNIT_UNUSABLE };

struct unit {
	uint64_t off;		/* in .debug_info */
	enum unit_state state;
	struct ranges ranges;	/* svma -> index of funcs */
	uint64_t *funcs;	/* owned; offsets of their entries */
	size_t nfuncs, cap;
};

struct dwarf_names {
	struct elf_file *ef;	/* borrowed */
	bool opened, mapped;
	bool spent;		/* a limit was reached, so that an attribute was not read */
	struct bytes sections[NSECTIONS];
	struct dies *dies;	/* owned; NULL: there is nothing to read */
	struct dies_sections secs;
	uint64_t selected;	/* offset of the unit that @dies reads; UINT64_MAX: none */
	struct ranges aranges, unit_ranges;	/* svma -> offset of the unit */
	struct unit *units;	/* owned; those that were looked at */
	size_t nunits, cap;
	struct u64map unit_at;	/* offset -> index of units */
	uint64_t room, entries_left;
	size_t ranges_left, funcs_left;
};

struct dwarf_names *dwarf_names_new(struct elf_file *ef)
{
	struct dwarf_names *dn = xcalloc(1, sizeof(*dn));

	dn->ef = ef;
	dn->selected = UINT64_MAX;
	dn->room = ROOM_MAX;
	dn->entries_left = ENTRIES_MAX;
	dn->ranges_left = RANGES_MAX;
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
	ranges_fini(&dn->aranges);
	ranges_fini(&dn->unit_ranges);
	dies_free(dn->dies);
	free(dn);
}

/* ---- the file ---- */

static const struct bytes *section(struct dwarf_names *dn, enum section which)
{
	const char *name = section_names[which];
	struct bytes *b = &dn->sections[which];
	uint64_t need;

	if (b->tried)
		return b;
	b->tried = true;
	if (elf_file_section_size(dn->ef, name) > dn->room)
		return b;
	need = elf_file_section_room(dn->ef, name);
	if (need > dn->room || (which == ARANGES && need > ARANGES_SIZE_MAX))
		return b;
	dn->room -= need;
	if (elf_file_section(dn->ef, name, &b->data, &b->size, NULL))
		b->data = NULL;
	if (!b->data)
		b->size = 0;
	return b;
}

/* True if units can be read. */
static bool open_info(struct dwarf_names *dn)
{
	const struct bytes *info, *abbrev, *aranges;

	if (dn->opened)
		return dn->dies;
	dn->opened = true;
	/* In relocatable files, relocations would have to be applied first. */
	if (elf_file_type(dn->ef) == ET_REL)
		return false;
	info = section(dn, INFO);
	abbrev = section(dn, ABBREV);
	if (!info->size || !abbrev->size)
		return false;
	dn->secs = (struct dies_sections){ info->data, abbrev->data, info->size, abbrev->size };
	dn->dies = dies_new();
	aranges = section(dn, ARANGES);
	if (aranges->size)
		aranges_read(aranges->data, aranges->size, info->size, &dn->aranges);
	return true;
}

static bool select_unit(struct dwarf_names *dn, uint64_t off)
{
	if (dn->selected == off)
		return true;
	dn->selected = UINT64_MAX;
	if (dies_parsed(dn->dies) > PARSED_MAX || dies_unit(dn->dies, &dn->secs, off))
		return false;
	dn->selected = off;
	return true;
}

/* dies_attr(), unless that would take too long: then @dn is spent. */
static bool attr(struct dwarf_names *dn, uint64_t off, uint32_t which, struct die_value *out)
{
	dn->spent |= dies_parsed(dn->dies) > PARSED_MAX;
	return !dn->spent && dies_attr(dn->dies, off, which, out);
}

static bool spend(struct dwarf_names *dn, uint64_t bytes)
{
	if (bytes > dn->entries_left)
		return false;
	dn->entries_left -= bytes;
	return true;
}

/* ---- ranges ---- */

/* As in inlines_cu.c: code that the linker dropped is left out. False: there are too many. */
static bool add_range(struct dwarf_names *dn, uint64_t start, uint64_t end, struct ranges *out, uint32_t id)
{
	if (!dn->ranges_left)
		return false;
	dn->ranges_left--;
	if (start > 1 && end > start && elf_file_code_end(dn->ef, start))
		ranges_add(out, start, end, id);
	return true;
}

static uint64_t address(struct cursor *c, bool wide)
{
	return wide ? cursor_u64(c) : cursor_u32(c);
}

/* DWARF 4, 2.17.3 */
static bool read_ranges(struct dwarf_names *dn, struct cursor *c, uint64_t base, struct ranges *out, uint32_t id)
{
	const bool wide = dies_addr_size(dn->dies) == 8;

	for (;;) {
		uint64_t start = address(c, wide), end = address(c, wide);

		if (!cursor_ok(c))
			return false;
		if (!start && !end)
			return true;
		if (start == (wide ? UINT64_MAX : UINT32_MAX))
			base = end;
		else if (!add_range(dn, base + start, base + end, out, id))
			return false;
	}
}

/* DWARF 5, 2.17.3 and 7.25 */
static bool read_rnglist(struct dwarf_names *dn, struct cursor *c, uint64_t base, struct ranges *out, uint32_t id)
{
	const bool wide = dies_addr_size(dn->dies) == 8;

	for (;;) {
		uint64_t start, end;

		switch (cursor_u8(c)) {
		case DW_RLE_end_of_list:
			return cursor_ok(c);
		case DW_RLE_base_address:
			base = address(c, wide);
			continue;
		case DW_RLE_offset_pair:
			start = base + cursor_varint(c);
			end = base + cursor_varint(c);
			break;
		case DW_RLE_start_end:
			start = address(c, wide);
			end = address(c, wide);
			break;
		case DW_RLE_start_length:
			start = address(c, wide);
			end = start + cursor_varint(c);
			break;
		default:
			return false;
		}
		if (!cursor_ok(c) || !add_range(dn, start, end, out, id))
			return false;
	}
}

/* What the offsets in range lists of the selected unit count from. False: not read here. */
static bool base_address(struct dwarf_names *dn, uint64_t *base)
{
	const uint64_t top = dies_top(dn->dies);
	struct die_value v;

	*base = 0;
	if (attr(dn, top, DW_AT_low_pc, &v)) {
		*base = v.num;
		return v.form == DW_FORM_addr;
	}
	return !attr(dn, top, DW_AT_entry_pc, &v);
}

static bool listed_ranges(struct dwarf_names *dn, const struct die_value *v, struct ranges *out, uint32_t id)
{
	const bool is_new = dies_version(dn->dies) >= 5;
	const struct bytes *b;
	struct cursor c;
	uint64_t base;

	if ((v->form != DW_FORM_sec_offset && v->form != DW_FORM_data4 && v->form != DW_FORM_data8) ||
	    !base_address(dn, &base))
		return false;
	b = section(dn, is_new ? RNGLISTS : RANGES);
	if (v->num >= b->size)
		return false;
	cursor_init(&c, b->data + v->num, b->size - v->num);
	return is_new ? read_rnglist(dn, &c, base, out, id) : read_ranges(dn, &c, base, out, id);
}

/* Is @v an end of code as dies_read() understands it? */
static bool is_plain_end(const struct die_value *v)
{
	switch (v->form) {
	case DW_FORM_addr:
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		return true;
	default:
		return false;
	}
}

/* Adds the code of entry @e of the selected unit. False: it is not known. */
static bool add_code(struct dwarf_names *dn, const struct die *e, struct ranges *out, uint32_t id)
{
	struct die_value v;

	if (!e->has_code)
		return true;
	if (e->high > e->low)
		return add_range(dn, e->low, e->high, out, id);
	if (attr(dn, e->off, DW_AT_ranges, &v))
		return listed_ranges(dn, &v, out, id);
	if (!attr(dn, e->off, DW_AT_low_pc, &v) || v.form != DW_FORM_addr)
		return false;
	/* No code, then. */
	return (!attr(dn, e->off, DW_AT_high_pc, &v) || is_plain_end(&v)) && !dn->spent;
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
	struct dies_walk w;

	ranges_fini(&u->ranges);
	u->nfuncs = 0;
	if (!select_unit(dn, u->off) || !spend(dn, dies_end(dn->dies) - u->off + UNIT_COST))
		return false;
	for (dies_walk_start(&w, dn->dies, dies_top(dn->dies)); w.depth;
	     dies_walk_next(&w, die_holds_functions(w.at.tag, deep))) {
		const size_t had = u->ranges.n;

		if (w.at.tag != DW_TAG_subprogram)
			continue;
		if (!add_code(dn, &w.at, &u->ranges, (uint32_t)u->nfuncs))
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
	struct ranges *all = &dn->unit_ranges;
	uint64_t off = 0;
	struct die top;

	dn->mapped = true;
	while (off < dn->secs.info_size) {
		const bool usable = select_unit(dn, off);
		const uint64_t end = dies_end(dn->dies);

		if (end <= off || !spend(dn, UNIT_COST) || dies_parsed(dn->dies) > PARSED_MAX)
			break;
		/* The first unit that claims an address wins: the highest id. */
		if (usable && dies_read(dn->dies, dies_top(dn->dies), &top) && top.tag == DW_TAG_compile_unit) {
			if (!spend(dn, top.behind - top.off))
				break;
			add_code(dn, &top, all, UINT32_MAX - (uint32_t)off);
			if (dn->spent || !dn->ranges_left)
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
	const struct range *r = ranges_find(&dn->aranges, svma);

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

static bool text_in(const struct bytes *b, uint64_t off, const char **out)
{
	if (off >= b->size)
		return false;
	*out = (const char *)b->data + off;
	return memchr(*out, '\0', MIN(b->size - off, (size_t)NAME_SIZE_MAX));
}

/* The text of an attribute, NULL if the entry lacks it. False: it is not read here. */
static bool text(struct dwarf_names *dn, uint64_t off, uint32_t which, const char **out)
{
	struct die_value v;

	*out = NULL;
	if (!attr(dn, off, which, &v))
		return !dn->spent;
	switch (v.form) {
	case DW_FORM_string:
		*out = v.text;
		return strnlen(v.text, NAME_SIZE_MAX) < NAME_SIZE_MAX;
	case DW_FORM_strp:
		return text_in(section(dn, STR), v.num, out);
	case DW_FORM_line_strp:
		return text_in(section(dn, LINE_STR), v.num, out);
	default:
		return false;
	}
}

/* die_name() of inlines_cu.c. NULL: none, or one that is not read here. */
static const char *entry_name(struct dwarf_names *dn, uint64_t off)
{
	const char *plain = NULL, *linkage;
	struct die_value v;

	for (int hop = 0; hop < HOPS_MAX; hop++) {
		if (!text(dn, off, DW_AT_linkage_name, &linkage) ||
		    (!linkage && !text(dn, off, DW_AT_MIPS_linkage_name, &linkage)))
			return NULL;
		if (linkage && linkage[0])
			return linkage;
		if (!plain && !text(dn, off, DW_AT_name, &plain))
			return NULL;
		if (!attr(dn, off, DW_AT_abstract_origin, &v) && !attr(dn, off, DW_AT_specification, &v))
			break;
		if (!v.local_ref)
			return NULL;
		off = v.num;
	}
	return plain && plain[0] ? plain : NULL;
}

/* inline_func_name() of inlines_cu.c, for the entry at @off of the selected unit. */
static const char *func_name(struct dwarf_names *dn, uint64_t off)
{
	struct die_value v;
	const char *name;

	/* GHC's linkage names are labels of one compilation. */
	if (attr(dn, dies_top(dn->dies), DW_AT_language, &v) && v.num == DW_LANG_Haskell) {
		if (!text(dn, off, DW_AT_name, &name))
			return NULL;
		if (name && name[0])
			return name;
	}
	return entry_name(dn, off);
}

bool dwarf_names_find(void *dwarf_names, uint64_t svma, struct elf_sym *out)
{
	struct dwarf_names *dn = dwarf_names;
	const struct range *r;
	struct unit *u;
	const char *name;

	if (!elf_file_code_end(dn->ef, svma) || elf_file_in_plt(dn->ef, svma) || !open_info(dn))
		return false;
	r = find_func(dn, svma, &u);
	if (!r || !select_unit(dn, u->off))
		return false;
	name = func_name(dn, u->funcs[r->id]);
	if (!name || dn->spent)
		return false;
	*out = (struct elf_sym){
		.svma = r->start, .size = r->end - r->start, .name = name, .type = STT_FUNC, .bind = STB_LOCAL,
	};
	return true;
}
