/* Sections and strings of debug info (inlines_source.h). */
#include "debuginfo/inlines_source.h"

Elf_Scn *inline_section(Dwarf *dw, const char *name, GElf_Shdr *sh)
{
	Elf *elf = dwarf_getelf(dw);
	Elf_Scn *scn = NULL;
	size_t shstrndx;

	if (elf_getshdrstrndx(elf, &shstrndx))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *at = gelf_getshdr(scn, sh) ? elf_strptr(elf, shstrndx, sh->sh_name) : NULL;

		if (at && inline_section_is(at, name) && sh->sh_type != SHT_NOBITS)
			return scn;
	}
	return NULL;
}

static void section_into(struct elf_file *ef, const char *name, struct linetable_bytes *out)
{
	if (elf_file_section(ef, name, &out->data, &out->size, NULL))
		*out = (struct linetable_bytes){ NULL, 0 };
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

const char *inline_text(struct inline_source *src, Dwarf_Attribute *attr)
{
	const char *s = dwarf_formstring(attr);

	if (src->file)
		elf_file_text(src->file, s);
	if (src->alt)
		elf_file_text(src->alt, s);
	return s;
}
