/* Finds the function table of Go programs and reads it. */
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"
#include "elf/gopclntab.h"

#define TEXT_FIELD 24	/* byte offset in the table of the base address of its functions */

/*
 * Byte offsets in the runtime's struct moduledata (src/runtime/symtab.go), unchanged since Go 1.16.
 */
#define MD_TABLE 0
#define MD_NAMES 8
#define MD_PCTAB 80
#define MD_FUNCS 128
#define MD_MINPC 160
#define MD_TEXT 176
#define MD_SIZE 192

/* The moduledata has a pointer to the table; hardly anything else has. */
#define CANDIDATES_MAX 64

/* Relocations with addends, as the dynamic linker applies them; size 0: none. */
struct relocs {
	const uint8_t *data;
	size_t size;
};

static struct relocs relocs_of(struct elf_file *ef)
{
	struct relocs rs = { NULL, 0 };

	if (elf_file_section(ef, ".rela.dyn", &rs.data, &rs.size, NULL) &&
	    elf_file_section(ef, ".rela", &rs.data, &rs.size, NULL))
		rs.size = 0;
	return rs;
}

/*
 * The next relocation from *@at on that turns its addend into an address in the file. False: no
 * more.
 */
static bool next_relative(const struct relocs *rs, size_t *at, Elf64_Rela *r)
{
	while (rs->size - *at >= sizeof(*r)) {
		memcpy(r, rs->data + *at, sizeof(*r));
		*at += sizeof(*r);
		if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE || ELF64_R_TYPE(r->r_info) == R_AARCH64_RELATIVE)
			return true;
	}
	return false;
}

/*
 * The pointer stored at svma @where, as svma: the addend of its relocation. Without one, the bytes
 * in the file, as in programs linked at a fixed address or with packed relocations. 0: none.
 */
static uint64_t pointer_at(struct elf_file *ef, const struct relocs *rs, uint64_t where)
{
	uint64_t v = 0;
	size_t at = 0;
	Elf64_Rela r;

	while (next_relative(rs, &at, &r))
		if (r.r_offset == where)
			return (uint64_t)r.r_addend;
	return elf_file_bytes(ef, where, &v, sizeof(v)) == sizeof(v) ? v : 0;
}

/* Start of text if @md (svma) is the moduledata of @gt, whose table is at svma @table; else 0. */
static uint64_t text_of(struct elf_file *ef, const struct relocs *rs, const struct gopclntab *gt, uint64_t table, uint64_t md)
{
	uint64_t text = pointer_at(ef, rs, md + MD_TEXT), first;
	uint32_t offset;

	memcpy(&offset, gt->data + gt->funcs, sizeof(offset));
	first = text + offset;
	if (pointer_at(ef, rs, md + MD_TABLE) != table || pointer_at(ef, rs, md + MD_NAMES) != table + gt->names ||
	    pointer_at(ef, rs, md + MD_PCTAB) != table + gt->pctab || pointer_at(ef, rs, md + MD_FUNCS) != table + gt->funcs ||
	    pointer_at(ef, rs, md + MD_MINPC) != first || !elf_file_code_end(ef, first))
		return 0;
	return text;
}

/*
 * Finds the moduledata by its first field, the table's address. Go 1.26 and later have a section
 * for it. Earlier, or if a linker script says so, it lies among other data.
 */
static uint64_t text_from_moduledata(struct elf_file *ef, const struct relocs *rs, const struct gopclntab *gt, uint64_t table)
{
	static const char *const names[] = { ".go.module", ".noptrdata", ".data.rel.ro", ".data" };
	unsigned int tried = 0;
	uint64_t text = 0, v;
	const uint8_t *data;
	size_t size, at = 0;
	uint64_t svma;
	Elf64_Rela r;

	while (!text && tried < CANDIDATES_MAX && next_relative(rs, &at, &r)) {
		if ((uint64_t)r.r_addend != table)
			continue;
		tried++;
		text = text_of(ef, rs, gt, table, r.r_offset);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names) && !text; i++) {
		if (elf_file_section(ef, names[i], &data, &size, &svma))
			continue;
		for (at = 0; size >= MD_SIZE && at <= size - MD_SIZE && !text && tried < CANDIDATES_MAX; at += 8) {
			memcpy(&v, data + at, sizeof(v));
			if (v != table)
				continue;
			tried++;
			text = text_of(ef, rs, gt, table, svma + at);
		}
	}
	return text;
}

/* The value of the linker's symbol runtime.text; 0: none. */
static uint64_t text_from_symbol(struct elf_file *ef)
{
	struct elf_symtab tab;
	GElf_Sym sym;

	if (!elf_symtab_find(ef, SHT_SYMTAB, &tab))
		return 0;
	for (size_t i = 0; elf_symtab_get(&tab, i, &sym); i++)
		if (sym.st_shndx != SHN_UNDEF && !strcmp(elf_symtab_name(&tab, sym.st_name), "runtime.text"))
			return sym.st_value;
	return 0;
}

/*
 * The base address of the table's functions. Before Go 1.26 the table states it, through a
 * relocation in position-independent programs. Since then the header has 0. It is not the start of
 * section .text: an external linker puts the C runtime's code first.
 */
static uint64_t text_start(struct elf_file *ef, const struct gopclntab *gt, uint64_t table)
{
	struct relocs rs = relocs_of(ef);
	uint64_t text = gt->text ? gt->text : pointer_at(ef, &rs, table + TEXT_FIELD);

	if (!text)
		text = text_from_moduledata(ef, &rs, gt, table);
	return text ? text : text_from_symbol(ef);
}

/*
 * The table, from a section of its own, or from ".data.rel.ro", where linkers put it among other
 * data in plugins, C libraries written in Go, and position-independent programs with cgo. Only Go's
 * linker writes .go.buildinfo, so no other file is searched.
 */
static bool table_in(struct elf_file *ef, const char *name, bool whole, struct gopclntab *gt, uint64_t *svma)
{
	const uint8_t *data;
	size_t size;

	if ((!whole && !elf_file_has_section(ef, ".go.buildinfo")) || elf_file_section(ef, name, &data, &size, svma))
		return false;
	/*
	 * With base 0, the table must state the address itself; text_start() searches for it
	 * otherwise.
	 */
	for (size_t at = 0; whole ? !at : size - at > 8; at += 8) {
		if ((whole || gopclntab_begins(data + at)) && !gopclntab_init(gt, data + at, size - at, 0)) {
			*svma += at;
			return true;
		}
	}
	return false;
}

const struct gopclntab *elf_file_gopclntab(struct elf_file *ef)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro" };
	uint64_t svma;

	if (ef->go_tried)
		return ef->go;
	ef->go_tried = true;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !ef->go && !ef->go_no_text; i++) {
		struct gopclntab gt;

		if (!table_in(ef, names[i], i + 1 < ARRAY_SIZE(names), &gt, &svma))
			continue;
		gt.text = text_start(ef, &gt, svma);
		/* With a wrong base address, every name would belong to another function. */
		ef->go_no_text = !gt.text;
		if (gt.text)
			ef->go = xmemdup(&gt, sizeof(gt));
	}
	return ef->go;
}

bool elf_file_go_lost(struct elf_file *ef)
{
	return !elf_file_gopclntab(ef) && ef->go_no_text;
}

int elf_go_symbols(struct elf_file *ef, int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx)
{
	const struct gopclntab *gt = elf_file_gopclntab(ef);
	struct go_func f;
	int ret = 0;

	for (size_t i = 0; gt && i < gt->nfunc && !ret; i++) {
		struct elf_sym sym;

		if (gopclntab_nth(gt, i, &f) || !f.name || !elf_file_code_end(ef, f.start))
			continue;
		sym = (struct elf_sym){
			.svma = f.start,
			.size = f.end - f.start,
			.name = f.name,
			.type = STT_FUNC,
			.bind = STB_GLOBAL,
			.gopclntab = true,
		};
		ret = fn(ctx, &sym);
	}
	return ret;
}
