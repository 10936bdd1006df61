/*
 * The bytes of an ELF file that libdw needs, in our own memory. libelf would read each debug
 * section into fresh pages of 4 KiB, including sections that nobody asks for (location lists alone
 * are a seventh of a C++ program's debug info). For large files that takes longer than all the work
 * on them. Here the sections lie in one private mapping at their file offsets, which several
 * handles can share. Entries and strings are read on demand (elf_later.c). It is a copy, not a
 * mapping of the file: a container may rewrite or truncate its file at any time.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf_file_priv.h"
#include "host/pages.h"

/* Larger files are left to libelf, which reads piece by piece. */
#define IMAGE_MAX	(3ull << 30)
#define HUGE_PAGE	(2u << 20)

/* Sections with entries, names, ranges and call frames. */
bool elf_debug_wanted(const char *name)
{
	static const char *const wanted[] = {
		"info", "types", "abbrev", "aranges", "addr", "str", "str_offsets", "line_str",
		"ranges", "rnglists", "frame", "line", "cu_index", "tu_index",
	};

	if (!strncmp(name, ".eh_frame", 9) || !strncmp(name, ".gnu_debugalt", 13))
		return true;
	if (!strncmp(name, ".debug_", 7))
		name += 7;
	else if (!strncmp(name, ".zdebug_", 8))
		name += 8;
	else
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		size_t len = strlen(wanted[i]);

		if (!strncmp(name, wanted[i], len) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

/*
 * libdw reads no line table for us, but it checks that offsets lie in one, so the section stays,
 * empty. A compressed one would have to be valid.
 */
static bool is_kept_empty(const char *name, const GElf_Shdr *sh)
{
	return !strcmp(name, ".debug_line") && !(sh->sh_flags & SHF_COMPRESSED);
}

/*
 * Make the section header say that the section has no bytes (SHT_NOBITS). The header table has the
 * layout of the file's class (gABI 4.2, chapter 4).
 */
static void hide_section(struct elf_file *ef, size_t index)
{
	bool wide = elf_file_is64(ef);
	uint64_t at = ef->ehdr.e_shoff + index * (wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	uint32_t nobits = SHT_NOBITS;

	at += wide ? offsetof(Elf64_Shdr, sh_type) : offsetof(Elf32_Shdr, sh_type);
	if (at <= ef->copy_size - sizeof(nobits))
		memcpy(ef->copy + at, &nobits, sizeof(nobits));
}

/*
 * One pass over all sections. Returns how many bytes are to be read at once. With @fill it reads
 * them and hides unwanted sections.
 */
static uint64_t each_section(struct elf_file *ef, bool fill)
{
	uint64_t sum = 0;
	Elf_Scn *scn = NULL;

	while (ef->shnum && (scn = elf_nextscn(ef->elf, scn))) {
		const char *name;
		GElf_Shdr sh;
		bool keep;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(ef->elf, ef->shstrndx, sh.sh_name);
		if (name && is_kept_empty(name, &sh))
			continue;
		if (name && elf_later_is(ef, name, &sh))
			continue;
		keep = (name && elf_debug_wanted(name)) || elf_ndxscn(scn) == ef->shstrndx;
		if (fill && !keep)
			hide_section(ef, elf_ndxscn(scn));
		if (!keep || !name || sum > IMAGE_MAX)
			continue;
		sum += MIN(sh.sh_size, ef->copy_size);
		ef->one_handle |= (sh.sh_flags & SHF_COMPRESSED) || !strncmp(name, ".z", 2);
		/* Headers of a malicious file may claim the same bytes many times. */
		if (fill && sum <= IMAGE_MAX)
			elf_copy_read(ef, sh.sh_offset, sh.sh_size);
	}
	return sum;
}

bool elf_copy_load(struct elf_file *ef)
{
	size_t shdr = elf_file_is64(ef) ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	size_t phdr = elf_file_is64(ef) ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	struct stat st;
	uint64_t want;
	void *p;

	if (ef->copy)
		return true;
	/*
	 * Without section headers, or with entries of another size than the class has: left to
	 * libelf.
	 */
	if (ef->fd < 0 || fstat(ef->fd, &st) || st.st_size < EI_NIDENT || !ef->shnum ||
	    ef->ehdr.e_shentsize != shdr)
		return false;
	ef->copy_size = (size_t)st.st_size;
	want = each_section(ef, false);
	if (want > IMAGE_MAX)
		return false;
	/* One byte more than the file: it terminates the last section if that lacks its NUL. */
	p = mmap(NULL, ef->copy_size + 1, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	ef->copy = p;
	/* Only for speed: with huge pages, each small section would have 2 MiB cleared. */
	madvise(p, ef->copy_size, want > 4 * HUGE_PAGE && pages_are_slow() ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	elf_copy_read(ef, 0, ef->ehdr.e_ehsize);
	elf_copy_read(ef, ef->ehdr.e_phoff, (uint64_t)ef->ehdr.e_phnum * phdr);
	elf_copy_read(ef, ef->ehdr.e_shoff, ef->shnum * shdr);
	each_section(ef, true);
	elf_later_begin(ef);
	return true;
}

void elf_copy_free(struct elf_file *ef)
{
	if (ef->copy)
		munmap(ef->copy, ef->copy_size + 1);
}
