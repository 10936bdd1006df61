#include "capture/dwarf_input.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "base/util.h"
#include "dwarf/aranges.h"
#include "elf/elf_file.h"

/* Limits per file. Together they take less than 0.2 s and 64 MiB, whatever the file says. */
#define ROOM_MAX	(32u << 20)	/* bytes of all sections, packed and unpacked */
#define ARANGES_SIZE_MAX (4u << 20)	/* bytes of .debug_aranges */
#define ENTRIES_MAX	(48u << 20)	/* bytes of entries to walk through */
#define PARSED_MAX	(16u << 20)	/* bytes to read in dies_unit() and dies_attr() */
#define RANGES_MAX	(1u << 18)
/* Bytes; longer names are not read from symbol tables, either. */
#define NAME_SIZE_MAX	65536

static const char *const section_names[DWARF_NSECTIONS] = {
	".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_str", ".debug_line_str", ".debug_ranges", ".debug_rnglists",
};

void dwarf_input_init(struct dwarf_input *in, struct elf_file *ef)
{
	*in = (struct dwarf_input){
		.ef = ef, .selected = UINT64_MAX, .room = ROOM_MAX, .entries_left = ENTRIES_MAX, .ranges_left = RANGES_MAX,
	};
}

void dwarf_input_fini(struct dwarf_input *in)
{
	ranges_fini(&in->aranges);
	dies_free(in->dies);
}

/* ---- the file ---- */

static const struct dwarf_bytes *section(struct dwarf_input *in, enum dwarf_section which)
{
	const char *name = section_names[which];
	struct dwarf_bytes *b = &in->sections[which];
	uint64_t need;

	if (b->tried)
		return b;
	b->tried = true;
	if (elf_file_section_size(in->ef, name) > in->room)
		return b;
	need = elf_file_section_room(in->ef, name);
	if (need > in->room || (which == DWARF_ARANGES && need > ARANGES_SIZE_MAX))
		return b;
	in->room -= need;
	if (elf_file_section(in->ef, name, &b->data, &b->size, NULL))
		b->data = NULL;
	if (!b->data)
		b->size = 0;
	return b;
}

bool dwarf_input_open(struct dwarf_input *in)
{
	const struct dwarf_bytes *info, *abbrev, *aranges;

	if (in->opened)
		return in->dies;
	in->opened = true;
	/* In relocatable files, relocations would have to be applied first. */
	if (elf_file_type(in->ef) == ET_REL)
		return false;
	info = section(in, DWARF_INFO);
	abbrev = section(in, DWARF_ABBREV);
	if (!info->size || !abbrev->size)
		return false;
	in->secs = (struct dies_sections){ info->data, abbrev->data, info->size, abbrev->size };
	in->dies = dies_new();
	aranges = section(in, DWARF_ARANGES);
	if (aranges->size)
		aranges_read(aranges->data, aranges->size, info->size, &in->aranges);
	return true;
}

bool dwarf_input_select(struct dwarf_input *in, uint64_t off)
{
	if (in->selected == off)
		return true;
	in->selected = UINT64_MAX;
	if (dies_parsed(in->dies) > PARSED_MAX || dies_unit(in->dies, &in->secs, off))
		return false;
	in->selected = off;
	return true;
}

bool dwarf_input_attr(struct dwarf_input *in, uint64_t off, uint32_t which, struct die_value *out)
{
	in->spent |= dies_parsed(in->dies) > PARSED_MAX;
	return !in->spent && dies_attr(in->dies, off, which, out);
}

bool dwarf_input_spend(struct dwarf_input *in, uint64_t bytes)
{
	if (bytes > in->entries_left || dies_parsed(in->dies) > PARSED_MAX)
		return false;
	in->entries_left -= bytes;
	return true;
}

/* ---- ranges ---- */

/* As in inlines_cu.c: code that the linker dropped is left out. False: there are too many. */
static bool add_range(struct dwarf_input *in, uint64_t start, uint64_t end, struct ranges *out, uint32_t id)
{
	if (!in->ranges_left)
		return false;
	in->ranges_left--;
	if (start > 1 && end > start && elf_file_code_end(in->ef, start))
		ranges_add(out, start, end, id);
	return true;
}

static uint64_t address(struct cursor *c, bool wide)
{
	return wide ? cursor_u64(c) : cursor_u32(c);
}

/* DWARF 4, 2.17.3 */
static bool read_ranges(struct dwarf_input *in, struct cursor *c, uint64_t base, struct ranges *out, uint32_t id)
{
	const bool wide = dies_addr_size(in->dies) == 8;

	for (;;) {
		uint64_t start = address(c, wide), end = address(c, wide);

		if (!cursor_ok(c))
			return false;
		if (!start && !end)
			return true;
		if (start == (wide ? UINT64_MAX : UINT32_MAX))
			base = end;
		else if (!add_range(in, base + start, base + end, out, id))
			return false;
	}
}

/* DWARF 5, 2.17.3 and 7.25 */
static bool read_rnglist(struct dwarf_input *in, struct cursor *c, uint64_t base, struct ranges *out, uint32_t id)
{
	const bool wide = dies_addr_size(in->dies) == 8;

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
		if (!cursor_ok(c) || !add_range(in, start, end, out, id))
			return false;
	}
}

/* What the offsets in range lists of the selected unit count from. False: not read here. */
static bool base_address(struct dwarf_input *in, uint64_t *base)
{
	const uint64_t top = dies_top(in->dies);
	struct die_value v;

	*base = 0;
	if (dwarf_input_attr(in, top, DW_AT_low_pc, &v)) {
		*base = v.num;
		return v.form == DW_FORM_addr;
	}
	return !dwarf_input_attr(in, top, DW_AT_entry_pc, &v);
}

static bool listed_ranges(struct dwarf_input *in, const struct die_value *v, struct ranges *out, uint32_t id)
{
	const bool is_new = dies_version(in->dies) >= 5;
	const struct dwarf_bytes *b;
	struct cursor c;
	uint64_t base;

	if ((v->form != DW_FORM_sec_offset && v->form != DW_FORM_data4 && v->form != DW_FORM_data8) ||
	    !base_address(in, &base))
		return false;
	b = section(in, is_new ? DWARF_RNGLISTS : DWARF_RANGES);
	if (v->num >= b->size)
		return false;
	cursor_init(&c, b->data + v->num, b->size - v->num);
	return is_new ? read_rnglist(in, &c, base, out, id) : read_ranges(in, &c, base, out, id);
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

bool dwarf_input_code(struct dwarf_input *in, const struct die *e, struct ranges *out, uint32_t id)
{
	struct die_value v;

	if (!e->has_code)
		return true;
	if (e->high > e->low)
		return add_range(in, e->low, e->high, out, id);
	if (dwarf_input_attr(in, e->off, DW_AT_ranges, &v))
		return listed_ranges(in, &v, out, id);
	if (!dwarf_input_attr(in, e->off, DW_AT_low_pc, &v) || v.form != DW_FORM_addr)
		return false;
	/* No code, then. */
	return (!dwarf_input_attr(in, e->off, DW_AT_high_pc, &v) || is_plain_end(&v)) && !in->spent;
}

/* ---- text ---- */

static bool text_in(const struct dwarf_bytes *b, uint64_t off, const char **out)
{
	if (off >= b->size)
		return false;
	*out = (const char *)b->data + off;
	return memchr(*out, '\0', MIN(b->size - off, (size_t)NAME_SIZE_MAX));
}

bool dwarf_input_text(struct dwarf_input *in, uint64_t off, uint32_t which, const char **out)
{
	struct die_value v;

	*out = NULL;
	if (!dwarf_input_attr(in, off, which, &v))
		return !in->spent;
	switch (v.form) {
	case DW_FORM_string:
		*out = v.text;
		return strnlen(v.text, NAME_SIZE_MAX) < NAME_SIZE_MAX;
	case DW_FORM_strp:
		return text_in(section(in, DWARF_STR), v.num, out);
	case DW_FORM_line_strp:
		return text_in(section(in, DWARF_LINE_STR), v.num, out);
	default:
		return false;
	}
}
