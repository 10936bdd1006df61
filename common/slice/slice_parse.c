/* Finds the parts of a file written by elf_write(). Bytes are checked, not trusted. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "slice/slice_priv.h"

struct image {
	const char *at;
	size_t size;
	Elf64_Ehdr eh;
	Elf64_Shdr names;		/* section with the section names */
};

static const void *bytes_at(const struct image *im, uint64_t off, uint64_t len)
{
	return off <= im->size && len <= im->size - off ? im->at + off : NULL;
}

static bool header_at(const struct image *im, size_t i, Elf64_Shdr *sh)
{
	const void *p = bytes_at(im, im->eh.e_shoff + i * sizeof(*sh), sizeof(*sh));

	if (p)
		memcpy(sh, p, sizeof(*sh));
	return p && (sh->sh_type == SHT_NOBITS || bytes_at(im, sh->sh_offset, sh->sh_size));
}

static bool is_named(const struct image *im, const Elf64_Shdr *sh, const char *name)
{
	size_t len = strlen(name) + 1;

	return sh->sh_name <= im->names.sh_size && len <= im->names.sh_size - sh->sh_name &&
	       !memcmp(im->at + im->names.sh_offset + sh->sh_name, name, len);
}

static bool parse_loads(const struct image *im, struct elf_slice *s)
{
	const char *p = bytes_at(im, im->eh.e_phoff, im->eh.e_phnum * sizeof(Elf64_Phdr));
	struct elf_load *loads;

	if (!p)
		return false;
	loads = xcalloc(im->eh.e_phnum + 1u, sizeof(*loads));
	for (size_t i = 0; i < im->eh.e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, p + i * sizeof(ph), sizeof(ph));
		loads[i] = (struct elf_load){
			.offset = ph.p_offset, .filesz = ph.p_filesz, .vaddr = ph.p_vaddr,
			.memsz = ph.p_memsz, .flags = ph.p_flags,
		};
	}
	s->loads = loads;
	s->nloads = im->eh.e_phnum;
	return true;
}

static bool parse_note(const struct image *im, const Elf64_Shdr *sh, struct elf_slice *s)
{
	Elf64_Nhdr nh;

	if (sh->sh_size < sizeof(nh) + 4)
		return false;
	memcpy(&nh, im->at + sh->sh_offset, sizeof(nh));
	if (nh.n_descsz > sh->sh_size - sizeof(nh) - 4)
		return false;
	s->build_id = (const uint8_t *)im->at + sh->sh_offset + sizeof(nh) + 4;
	s->build_id_len = nh.n_descsz;
	return true;
}

/*
 * Returns symbols sorted by address. The file has local symbols first, and each part is sorted;
 * elf_write() splits the merged list again. All names together may not be longer than the section,
 * as they could be if they overlapped.
 */
static bool parse_symbols(const struct image *im, const Elf64_Shdr *tab, const Elf64_Shdr *str,
			  struct elf_slice *s)
{
	size_t n = tab->sh_size / sizeof(Elf64_Sym), local = tab->sh_info, left = str->sh_size;
	size_t at[2] = { 1, local }, end[2] = { local, n };
	struct elf_sym *syms;

	if (!n || local < 1 || local > n)
		return false;
	s->syms = syms = xcalloc(n, sizeof(*syms));
	while (at[0] < end[0] || at[1] < end[1]) {
		const char *base = im->at + tab->sh_offset, *name;
		Elf64_Sym sym[2] = { 0 };
		bool second;
		size_t len;

		for (int i = 0; i < 2; i++)
			if (at[i] < end[i])
				memcpy(&sym[i], base + at[i] * sizeof(*sym), sizeof(*sym));
		second = at[0] == end[0] || (at[1] < end[1] && sym[1].st_value < sym[0].st_value);
		at[second]++;
		if (sym[second].st_name >= str->sh_size)
			return false;
		name = im->at + str->sh_offset + sym[second].st_name;
		len = strnlen(name, MIN(left, str->sh_size - sym[second].st_name));
		if (len == MIN(left, str->sh_size - sym[second].st_name))
			return false;
		left -= len + 1;
		syms[s->nsyms++] = (struct elf_sym){
			.svma = sym[second].st_value, .size = sym[second].st_size, .name = name,
			.type = ELF64_ST_TYPE(sym[second].st_info),
			.bind = ELF64_ST_BIND(sym[second].st_info),
		};
	}
	return true;
}

static bool parse_section(const struct image *im, const Elf64_Shdr *sh, struct elf_slice *s)
{
	const void *data;
	Elf64_Shdr str;

	if (sh->sh_type == SHT_SYMTAB)
		return !s->syms && header_at(im, sh->sh_link, &str) &&
		       str.sh_type == SHT_STRTAB && parse_symbols(im, sh, &str, s);
	if (sh->sh_type == SHT_NOTE)
		return parse_note(im, sh, s);
	if (sh->sh_type != SHT_PROGBITS)
		return true;
	data = im->at + sh->sh_offset;
	if (is_named(im, sh, ".eh_frame")) {
		s->eh_frame = data;
		s->eh_frame_size = sh->sh_size;
	} else if (is_named(im, sh, ".gnu_debuglink")) {
		s->debuglink = data;
		s->debuglink_size = sh->sh_size;
	} else if (is_named(im, sh, ".gnu_debugdata")) {
		s->debugdata = data;
		s->debugdata_size = sh->sh_size;
	} else {
		return false;
	}
	return true;
}

bool slice_parse(const void *elf, size_t size, struct elf_slice *s)
{
	struct image im = { .at = elf, .size = size };

	*s = (struct elf_slice){ 0 };
	if (size < sizeof(im.eh))
		return false;
	memcpy(&im.eh, elf, sizeof(im.eh));
	if (memcmp(im.eh.e_ident, ELFMAG, SELFMAG) || im.eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    im.eh.e_shoff > size || im.eh.e_shnum > 16 ||
	    !header_at(&im, im.eh.e_shstrndx, &im.names) || im.names.sh_type != SHT_STRTAB ||
	    !parse_loads(&im, s))
		return false;
	s->type = im.eh.e_type;
	s->machine = im.eh.e_machine;
	s->entry = im.eh.e_entry;
	for (size_t i = 1; i < im.eh.e_shnum; i++) {
		Elf64_Shdr sh;

		if (!header_at(&im, i, &sh) || !parse_section(&im, &sh, s))
			return false;
	}
	return true;
}
