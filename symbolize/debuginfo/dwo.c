/* Split DWARF as bytes (dwo.h). All of it may come from inside a container and is not trusted. */
#include "debuginfo/dwo.h"

#include <elf.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf_file.h"

static const struct {
	const char *dwo, *plain;
} sections[DWO_PARTS] = {
	[DWO_INFO] = { ".debug_info.dwo", ".debug_info" },
	[DWO_ABBREV] = { ".debug_abbrev.dwo", ".debug_abbrev" },
	[DWO_STR] = { ".debug_str.dwo", ".debug_str" },
	[DWO_STR_OFFSETS] = { ".debug_str_offsets.dwo", ".debug_str_offsets" },
	[DWO_RNGLISTS] = { ".debug_rnglists.dwo", ".debug_rnglists" },
	[DWO_ADDR] = { NULL, ".debug_addr" },
};

/* DWARF 5, 7.5.1 */
#define UT_SPLIT_TYPE 6

/*
 * Does the section hold a unit with code? With -fdebug-types-section, gcc puts each type into a
 * section of its own (in a group, so that the linker keeps one copy). These sections have the same
 * name as the unit's and come before it.
 */
static bool has_code_unit(const uint8_t *data, size_t size)
{
	struct cursor c;

	cursor_init(&c, data, size);
	while (cursor_left(&c)) {
		uint64_t len = cursor_u32(&c);
		struct cursor unit;
		bool type;

		if (len == UINT32_MAX)
			len = cursor_u64(&c);
		if (!cursor_ok(&c) || len > cursor_left(&c))
			return false;
		cursor_init(&unit, data + c.pos, len);
		type = cursor_u16(&unit) >= 5 && cursor_u8(&unit) == UT_SPLIT_TYPE;
		if (cursor_ok(&unit) && !type)
			return true;
		cursor_skip(&c, len);
	}
	return false;
}

static void read_parts(struct elf_file *ef, struct dwo_unit *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < DWO_PARTS; i++) {
		struct dwo_bytes *b = &out->part[i];

		if (sections[i].dwo &&
		    elf_file_section(ef, sections[i].dwo, &b->data, &b->size, NULL))
			*b = (struct dwo_bytes){ NULL, 0 };
	}
}

bool dwo_from_file(struct elf_file *dwo, struct dwo_unit *out)
{
	struct dwo_bytes *info = &out->part[DWO_INFO];

	read_parts(dwo, out);
	if (elf_file_section_that(dwo, sections[DWO_INFO].dwo, has_code_unit, &info->data, &info->size))
		*info = (struct dwo_bytes){ NULL, 0 };
	return info->data != NULL;
}

/* ---- packages: DWARF 5, 7.3.5.3; version 2 is GNU's ---- */

#define COLUMNS_MAX 16

struct index {
	uint32_t ncols, nunits, nslots;
	uint32_t columns[COLUMNS_MAX];	/* DW_SECT_* */
	size_t slots, rows, offsets, sizes;	/* where the tables begin, bytes */
};

static bool read_index(struct cursor *c, struct index *ix)
{
	uint64_t cells;
	uint32_t version = cursor_u32(c);

	/* Version 5 has a 16-bit version and 16 bits of padding. */
	if ((version & 0xffff) != 5 && version != 2)
		return false;
	ix->ncols = cursor_u32(c);
	ix->nunits = cursor_u32(c);
	ix->nslots = cursor_u32(c);
	if (!cursor_ok(c) || ix->ncols > COLUMNS_MAX)
		return false;
	cells = (uint64_t)ix->ncols * ix->nunits * 4;
	ix->slots = c->pos;
	ix->rows = ix->slots + (size_t)ix->nslots * 8;
	ix->offsets = ix->rows + (size_t)ix->nslots * 4 + ix->ncols * 4;
	ix->sizes = ix->offsets + cells;
	if (ix->offsets > c->size || cells * 2 > c->size - ix->offsets)
		return false;
	c->pos = ix->rows + (size_t)ix->nslots * 4;
	for (uint32_t i = 0; i < ix->ncols; i++)
		ix->columns[i] = cursor_u32(c);
	return cursor_ok(c);
}

static uint32_t u32_at(struct cursor *c, size_t pos)
{
	c->pos = pos;
	return cursor_u32(c);
}

/* Row of the unit, from 0; -1 if there is none. */
static int64_t find_row(struct cursor *c, const struct index *ix, uint64_t id)
{
	for (uint32_t i = 0; i < ix->nslots; i++) {
		uint32_t row;

		c->pos = ix->slots + (size_t)i * 8;
		if (cursor_u64(c) != id)
			continue;
		row = u32_at(c, ix->rows + (size_t)i * 4);
		if (row && row <= ix->nunits)
			return (int64_t)row - 1;
	}
	return -1;
}

/* DW_SECT_*. The numbers used here are the same in both versions, except for the ranges. */
static int part_of_column(uint32_t column)
{
	switch (column) {
	case 1:
		return DWO_INFO;
	case 3:
		return DWO_ABBREV;
	case 6:
		return DWO_STR_OFFSETS;
	case 8:
		return DWO_RNGLISTS;
	default:
		return -1;
	}
}

bool dwo_from_package(struct elf_file *dwp, uint64_t id, struct dwo_unit *out)
{
	struct dwo_unit whole;
	struct cursor c;
	struct index ix;
	const uint8_t *data;
	size_t size;
	int64_t row;

	read_parts(dwp, &whole);
	if (!whole.part[DWO_INFO].data || elf_file_section(dwp, ".debug_cu_index", &data, &size, NULL))
		return false;
	cursor_init(&c, data, size);
	if (!read_index(&c, &ix))
		return false;
	row = find_row(&c, &ix, id);
	if (row < 0)
		return false;
	memset(out, 0, sizeof(*out));
	out->part[DWO_STR] = whole.part[DWO_STR];	/* shared by all units */
	for (uint32_t i = 0; i < ix.ncols; i++) {
		size_t cell = ((size_t)row * ix.ncols + i) * 4;
		uint32_t off = u32_at(&c, ix.offsets + cell);
		uint32_t len = u32_at(&c, ix.sizes + cell);
		int part = part_of_column(ix.columns[i]);

		if (part < 0 || off > whole.part[part].size || len > whole.part[part].size - off)
			continue;
		out->part[part] = (struct dwo_bytes){ whole.part[part].data + off, len };
	}
	return out->part[DWO_INFO].data != NULL;
}

/* ---- an ELF file of it ---- */

void dwo_write_elf(const struct dwo_unit *unit, struct strbuf *out)
{
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(eh),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = DWO_PARTS + 2,
		.e_shstrndx = DWO_PARTS + 1,
	};
	Elf64_Shdr sh[DWO_PARTS + 2] = { 0 };
	size_t start = out->len, names;

	strbuf_add(out, &eh, sizeof(eh));
	for (size_t i = 0; i < DWO_PARTS; i++) {
		sh[i + 1].sh_type = unit->part[i].data ? SHT_PROGBITS : SHT_NOBITS;
		sh[i + 1].sh_offset = out->len - start;
		sh[i + 1].sh_size = unit->part[i].size;
		sh[i + 1].sh_addralign = 1;
		if (unit->part[i].data)
			strbuf_add(out, unit->part[i].data, unit->part[i].size);
	}
	names = out->len;
	strbuf_addc(out, '\0');
	for (size_t i = 0; i < DWO_PARTS; i++) {
		sh[i + 1].sh_name = (uint32_t)(out->len - names);
		strbuf_add(out, sections[i].plain, strlen(sections[i].plain) + 1);
	}
	sh[DWO_PARTS + 1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = names - start,
		.sh_size = out->len - names,
		.sh_addralign = 1,
	};
	while ((out->len - start) % 8)
		strbuf_addc(out, '\0');
	eh.e_shoff = out->len - start;
	strbuf_add(out, sh, sizeof(sh));
	memcpy(out->s + start, &eh, sizeof(eh));
}

/* ---- ranges ---- */

enum {
	RLE_END, RLE_BASE_ADDRESSX, RLE_STARTX_ENDX, RLE_STARTX_LENGTH, RLE_OFFSET_PAIR,
	RLE_BASE_ADDRESS, RLE_START_END, RLE_START_LENGTH,
};

static uint64_t address(const struct dwo_unit *unit, uint64_t index, bool *bad)
{
	const struct dwo_bytes *b = &unit->part[DWO_ADDR];
	uint64_t v = 0;

	if (!b->data || index >= b->size / 8)
		*bad = true;
	else
		memcpy(&v, b->data + index * 8, 8);
	return v;
}

void dwo_ranges(const struct dwo_unit *unit, uint64_t index, uint64_t base, size_t max,
		void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx)
{
	const struct dwo_bytes *b = &unit->part[DWO_RNGLISTS];
	size_t table;
	struct cursor c;
	bool wide;

	if (!b->data)
		return;
	cursor_init(&c, b->data, b->size);
	wide = cursor_u32(&c) == 0xffffffff;
	/*
	 * Length, version, address size, segment size, count; then the offsets, which are relative
	 * to this position.
	 */
	cursor_skip(&c, wide ? 8 + 4 : 4);
	if (index >= cursor_u32(&c))
		return;
	table = c.pos;
	cursor_skip(&c, index * (wide ? 8 : 4));
	index = wide ? cursor_u64(&c) : cursor_u32(&c);
	if (!cursor_ok(&c) || index >= b->size - table)
		return;
	c.pos = table + index;
	for (; max && cursor_ok(&c) && !c.bad; max--) {
		uint8_t kind = cursor_u8(&c);
		uint64_t x, y;

		if (kind == RLE_END || kind > RLE_START_LENGTH || !cursor_ok(&c))
			return;
		x = kind >= RLE_BASE_ADDRESS ? cursor_u64(&c) : cursor_varint(&c);
		if (kind == RLE_BASE_ADDRESSX || kind == RLE_STARTX_ENDX || kind == RLE_STARTX_LENGTH)
			x = address(unit, x, &c.bad);
		if (kind == RLE_BASE_ADDRESSX || kind == RLE_BASE_ADDRESS) {
			base = x;
			continue;
		}
		y = kind == RLE_START_END ? cursor_u64(&c) : cursor_varint(&c);
		if (kind == RLE_STARTX_ENDX)
			y = address(unit, y, &c.bad);
		else if (kind == RLE_STARTX_LENGTH || kind == RLE_START_LENGTH)
			y += x;
		else if (kind == RLE_OFFSET_PAIR)
			x += base, y += base;
		if (cursor_ok(&c))
			fn(ctx, x, y);
	}
}
