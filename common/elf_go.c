/* What is special about Go programs: their function table is found, and their code read. */
#include <string.h>

#include "elf_file.h"
#include "elf_file_priv.h"
#include "gopclntab.h"
#include "util.h"
#include "xalloc.h"

#define TEXT_FIELD 24	/* byte offset in the table of the first function's address */

/* In a position-independent program the address is a relocation: its addend, 0 when there is none. */
static uint64_t relocated(struct elf_file *ef, uint64_t where)
{
	const uint8_t *data;
	size_t size;

	if (elf_file_section(ef, ".rela.dyn", &data, &size, NULL) &&
	    elf_file_section(ef, ".rela", &data, &size, NULL))
		return 0;
	for (size_t i = 0; i + sizeof(Elf64_Rela) <= size; i += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, data + i, sizeof(r));
		if (r.r_offset == where && ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE)
			return (uint64_t)r.r_addend;
	}
	return 0;
}

static uint64_t text_start(struct elf_file *ef, uint64_t table)
{
	uint64_t text = relocated(ef, table + TEXT_FIELD), svma;
	const uint8_t *data;
	size_t size;

	if (text)
		return text;
	return elf_file_section(ef, ".text", &data, &size, &svma) ? 0 : svma;
}

/*
 * The table of a section of its own, or of ".data.rel.ro", where linkers put it together with other data: in plugins, C libraries
 * made of Go, and position-independent programs with cgo. Only Go's linker writes .go.buildinfo, so no other file is searched.
 */
static bool table_in(struct elf_file *ef, const char *name, bool whole, struct gopclntab *gt, uint64_t *svma)
{
	const uint8_t *data;
	size_t size;

	if ((!whole && !elf_file_has_section(ef, ".go.buildinfo")) || elf_file_section(ef, name, &data, &size, svma))
		return false;
	/* What the file says is asked first; the address is looked for when it does not. */
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
	for (size_t i = 0; i < ARRAY_SIZE(names) && !ef->go; i++) {
		struct gopclntab gt;

		if (!table_in(ef, names[i], i + 1 < ARRAY_SIZE(names), &gt, &svma))
			continue;
		if (!gt.text)
			gt.text = text_start(ef, svma);
		ef->go = xmemdup(&gt, sizeof(gt));
	}
	return ef->go;
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
