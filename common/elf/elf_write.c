/*
 * Writes an ELF file from its parts without libelf (gABI 4.2, chapters 4 and 5): libelf needs a
 * file descriptor to write to, and the format is simple.
 */
#include "elf/elf_write.h"

#include <elf.h>
#include <string.h>

#include "base/util.h"

enum section {
	SEC_NULL, SEC_TEXT, SEC_NOTE, SEC_EH_FRAME, SEC_SYMTAB, SEC_STRTAB, SEC_DEBUGLINK,
	SEC_DEBUGDATA, SEC_SHSTRTAB, SEC_MAX,
};

static const char *const section_names[SEC_MAX] = {
	"", ".text", ".note.gnu.build-id", ".eh_frame", ".symtab", ".strtab", ".gnu_debuglink",
	".gnu_debugdata", ".shstrtab",
};

struct writer {
	const struct elf_slice *slice;
	struct strbuf *out;
	size_t base;			/* where the file begins in @out */
	Elf64_Shdr sh[SEC_MAX];		/* by enum section; sh_type 0: left out */
	uint16_t index[SEC_MAX];	/* section header index of each */
};

static size_t file_pos(const struct writer *w)
{
	return w->out->len - w->base;
}

static void pad(struct writer *w, size_t align)
{
	while (file_pos(w) % align)
		strbuf_addc(w->out, 0);
}

static void begin(struct writer *w, enum section sec, uint32_t type, size_t align)
{
	pad(w, align);
	w->sh[sec].sh_type = type;
	w->sh[sec].sh_offset = file_pos(w);
	w->sh[sec].sh_addralign = align;
}

static void end(struct writer *w, enum section sec)
{
	w->sh[sec].sh_size = file_pos(w) - w->sh[sec].sh_offset;
}

static void add_section(struct writer *w, enum section sec, uint32_t type, size_t align,
			const void *data, size_t size)
{
	if (!size)
		return;
	begin(w, sec, type, align);
	strbuf_add(w->out, data, size);
	end(w, sec);
}

/*
 * Symbols must be defined in a section. This one spans the executable segments and has no bytes,
 * like the .text of a separate debug file.
 */
static void add_text(struct writer *w)
{
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i < w->slice->nloads; i++) {
		const struct elf_load *l = &w->slice->loads[i];

		if (!(l->flags & PF_X))
			continue;
		lo = MIN(lo, l->vaddr);
		hi = MAX(hi, l->vaddr + l->memsz);
	}
	begin(w, SEC_TEXT, SHT_NOBITS, 16);
	w->sh[SEC_TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	if (lo < hi) {
		w->sh[SEC_TEXT].sh_addr = lo;
		w->sh[SEC_TEXT].sh_size = hi - lo;
	}
	/*
	 * The address of real text need not be a multiple of 16, so the header must not claim it.
	 */
	w->sh[SEC_TEXT].sh_addralign = 1;
}

/*
 * This section and .eh_frame lack SHF_ALLOC: no segment of the original holds them, and debuggers
 * complain about loaded sections outside of segments.
 */
static void add_build_id(struct writer *w)
{
	const struct elf_slice *s = w->slice;
	Elf64_Nhdr nh = {
		.n_namesz = 4, .n_descsz = (uint32_t)s->build_id_len, .n_type = NT_GNU_BUILD_ID,
	};

	if (!s->build_id_len)
		return;
	begin(w, SEC_NOTE, SHT_NOTE, 4);
	strbuf_add(w->out, &nh, sizeof(nh));
	strbuf_add(w->out, "GNU", 4);
	strbuf_add(w->out, s->build_id, s->build_id_len);
	pad(w, 4);
	end(w, SEC_NOTE);
}

static void add_symbol(struct writer *w, const struct elf_sym *s, size_t name)
{
	const Elf64_Shdr *text = &w->sh[SEC_TEXT];
	Elf64_Sym sym = {
		.st_name = (uint32_t)name,
		.st_info = ELF64_ST_INFO(s->bind, s->type),
		.st_shndx = SHN_ABS,
		.st_value = s->svma,
		.st_size = s->size,
	};

	if (s->svma - text->sh_addr < text->sh_size)
		sym.st_shndx = w->index[SEC_TEXT];
	strbuf_add(w->out, &sym, sizeof(sym));
}

/* .symtab needs local symbols first. Names are laid out in the same two passes. */
static void add_symtab(struct writer *w)
{
	static const Elf64_Sym null;
	const struct elf_slice *s = w->slice;
	struct strbuf names = STRBUF_INIT;
	size_t nlocal = 1, len = 1;

	if (!s->nsyms)
		return;
	for (size_t i = 0; i < s->nsyms; i++)
		len += strlen(s->syms[i].name) + 1;
	strbuf_reserve(&names, len);
	begin(w, SEC_SYMTAB, SHT_SYMTAB, 8);
	strbuf_add(w->out, &null, sizeof(null));
	strbuf_addc(&names, 0);
	for (int local = 1; local >= 0; local--) {
		for (size_t i = 0; i < s->nsyms; i++) {
			if ((s->syms[i].bind == STB_LOCAL) != local)
				continue;
			add_symbol(w, &s->syms[i], names.len);
			strbuf_add(&names, s->syms[i].name, strlen(s->syms[i].name) + 1);
			nlocal += (size_t)local;
		}
	}
	end(w, SEC_SYMTAB);
	w->sh[SEC_SYMTAB].sh_info = (uint32_t)nlocal;
	w->sh[SEC_SYMTAB].sh_entsize = sizeof(Elf64_Sym);
	add_section(w, SEC_STRTAB, SHT_STRTAB, 1, names.s, names.len);
	strbuf_fini(&names);
}

/* Returns the number of section headers. */
static uint16_t number_sections(struct writer *w)
{
	const struct elf_slice *s = w->slice;
	const bool there[SEC_MAX] = {
		[SEC_NULL] = true, [SEC_TEXT] = true, [SEC_NOTE] = s->build_id_len,
		[SEC_EH_FRAME] = s->eh_frame_size, [SEC_SYMTAB] = s->nsyms, [SEC_STRTAB] = s->nsyms,
		[SEC_DEBUGLINK] = s->debuglink_size, [SEC_DEBUGDATA] = s->debugdata_size,
		[SEC_SHSTRTAB] = true,
	};
	uint16_t n = 0;

	for (int i = 0; i < SEC_MAX; i++) {
		if (there[i])
			w->index[i] = n++;
	}
	return n;
}

static void add_section_headers(struct writer *w)
{
	pad(w, 8);
	strbuf_add(w->out, &w->sh[SEC_NULL], sizeof(w->sh[SEC_NULL]));
	for (int i = 1; i < SEC_MAX; i++) {
		if (w->sh[i].sh_type)
			strbuf_add(w->out, &w->sh[i], sizeof(w->sh[i]));
	}
}

static void add_section_names(struct writer *w)
{
	begin(w, SEC_SHSTRTAB, SHT_STRTAB, 1);
	for (int i = 0; i < SEC_MAX; i++) {
		if (i && !w->sh[i].sh_type)
			continue;
		w->sh[i].sh_name = (uint32_t)(file_pos(w) - w->sh[SEC_SHSTRTAB].sh_offset);
		strbuf_add(w->out, section_names[i], strlen(section_names[i]) + 1);
	}
	end(w, SEC_SHSTRTAB);
}

static void add_program_headers(struct writer *w)
{
	for (size_t i = 0; i < w->slice->nloads; i++) {
		const struct elf_load *l = &w->slice->loads[i];
		Elf64_Phdr ph = {
			.p_type = PT_LOAD, .p_flags = l->flags, .p_offset = l->offset,
			.p_vaddr = l->vaddr, .p_paddr = l->vaddr, .p_filesz = l->filesz,
			.p_memsz = l->memsz, .p_align = 4096,
		};

		strbuf_add(w->out, &ph, sizeof(ph));
	}
}

void elf_write(const struct elf_slice *slice, struct strbuf *out)
{
	struct writer w = { .slice = slice, .out = out, .base = out->len };
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = slice->type, .e_machine = slice->machine, .e_version = EV_CURRENT,
		.e_entry = slice->entry, .e_phoff = slice->nloads ? sizeof(eh) : 0,
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = (uint16_t)slice->nloads,
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	/* STT_GNU_IFUNC is a GNU extension, which the ABI byte must announce. */
	for (size_t i = 0; i < slice->nsyms; i++) {
		if (slice->syms[i].type == STT_GNU_IFUNC)
			eh.e_ident[EI_OSABI] = ELFOSABI_GNU;
	}
	eh.e_shnum = number_sections(&w);
	eh.e_shstrndx = w.index[SEC_SHSTRTAB];
	strbuf_add(out, &eh, sizeof(eh));
	add_program_headers(&w);
	add_text(&w);
	add_build_id(&w);
	add_section(&w, SEC_EH_FRAME, SHT_PROGBITS, 8, slice->eh_frame, slice->eh_frame_size);
	add_symtab(&w);
	w.sh[SEC_SYMTAB].sh_link = w.index[SEC_STRTAB];
	add_section(&w, SEC_DEBUGLINK, SHT_PROGBITS, 4, slice->debuglink, slice->debuglink_size);
	add_section(&w, SEC_DEBUGDATA, SHT_PROGBITS, 1, slice->debugdata, slice->debugdata_size);
	add_section_names(&w);
	add_section_headers(&w);
	eh.e_shoff = file_pos(&w) - (size_t)eh.e_shnum * sizeof(Elf64_Shdr);
	memcpy(out->s + w.base, &eh, sizeof(eh));
}
