/*
 * Symbol tables: gABI 4.2 chapter 4 "Symbol Table". Without section headers, the dynamic section
 * locates .dynsym (chapter 5). Only the hash tables tell its length.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

/* Does every stretch of ELF_NAME_MAX bytes have a NUL? Reads few bytes of an ordinary table. */
static bool names_are_short(const char *names, size_t size)
{
	size_t pos = 0;

	while (size - pos >= ELF_NAME_MAX) {
		const char *nul = memrchr(names + pos, 0, ELF_NAME_MAX);

		if (!nul)
			return false;
		pos = (size_t)(nul - names) + 1;
	}
	return true;
}

bool elf_symtab_init(struct elf_symtab *tab, Elf_Data *syms, Elf_Data *str)
{
	const char *last;

	if (!syms || !syms->d_buf || !str || !str->d_buf)
		return false;
	last = memrchr(str->d_buf, 0, str->d_size);
	if (!last)
		return false;
	tab->syms = syms;
	tab->names = str->d_buf;
	tab->names_size = (size_t)(last - tab->names) + 1;
	tab->short_names = names_are_short(tab->names, tab->names_size);
	return true;
}

const char *elf_symtab_name(const struct elf_symtab *tab, size_t off)
{
	if (off >= tab->names_size)
		return "";
	if (!tab->short_names && strnlen(tab->names + off, ELF_NAME_MAX) == ELF_NAME_MAX)
		return "";
	return tab->names + off;
}

/* ---- .dynsym without section headers ---- */

struct dyn_tables {
	uint64_t symtab, strtab, strsz, hash, gnu_hash;	/* svma, strsz bytes; 0 = absent */
	uint64_t rela, relacount;
};

static void read_dynamic(struct elf_file *ef, struct dyn_tables *t)
{
	size_t phnum = 0;
	Elf_Data *d = NULL;

	memset(t, 0, sizeof(*t));
	if (elf_getphdrnum(ef->elf, &phnum))
		return;
	for (size_t i = 0; i < MIN(phnum, (size_t)256) && !d; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(ef->elf, (int)i, &ph) && ph.p_type == PT_DYNAMIC)
			d = elf_image(ef, ph.p_vaddr, ph.p_filesz, ELF_T_DYN);
	}
	if (!d)
		return;
	for (int i = 0; i < 4096; i++) {
		GElf_Dyn dyn;

		if (!gelf_getdyn(d, i, &dyn) || dyn.d_tag == DT_NULL)
			return;
		switch (dyn.d_tag) {
		case DT_SYMTAB:
			t->symtab = dyn.d_un.d_ptr;
			break;
		case DT_STRTAB:
			t->strtab = dyn.d_un.d_ptr;
			break;
		case DT_STRSZ:
			t->strsz = dyn.d_un.d_val;
			break;
		case DT_HASH:
			t->hash = dyn.d_un.d_ptr;
			break;
		case DT_GNU_HASH:
			t->gnu_hash = dyn.d_un.d_ptr;
			break;
		case DT_RELA:
			t->rela = dyn.d_un.d_ptr;
			break;
		case DT_RELACOUNT:
			t->relacount = dyn.d_un.d_val;
			break;
		}
	}
}

uint64_t elf_relative_relocs(struct elf_file *ef, uint64_t svma)
{
	struct dyn_tables t;

	read_dynamic(ef, &t);
	return t.rela == svma ? t.relacount : 0;
}

/* Word @i of a table of 32-bit words; false past its end. */
static bool word_at(const Elf_Data *d, uint64_t i, uint32_t *out)
{
	if (i >= d->d_size / 4)
		return false;
	memcpy(out, (const char *)d->d_buf + i * 4, 4);
	return true;
}

/*
 * DT_GNU_HASH: nbuckets, symoffset, bloom_size, bloom_shift, the bloom words (of address size), the
 * buckets, then one word for each symbol from symoffset on, whose low bit ends a chain. The chain
 * that starts at the highest symbol ends with the last symbol.
 */
static uint64_t gnu_hash_count(struct elf_file *ef, uint64_t svma)
{
	Elf_Data *d = elf_image(ef, svma, SIZE_MAX, ELF_T_BYTE);
	uint32_t nbuckets, symoffset, bloom, v, max = 0;
	uint64_t buckets, chain;

	if (!d || !d->d_buf || !word_at(d, 0, &nbuckets) || !word_at(d, 1, &symoffset) ||
	    !word_at(d, 2, &bloom))
		return 0;
	buckets = 4 + (uint64_t)bloom * (elf_file_is64(ef) ? 2 : 1);
	for (uint32_t i = 0; i < nbuckets; i++) {
		if (!word_at(d, buckets + i, &v))
			return 0;
		max = MAX(max, v);
	}
	if (max < symoffset)
		return symoffset;
	for (chain = buckets + nbuckets;; max++) {
		if (!word_at(d, chain + (max - symoffset), &v))
			return 0;
		if (v & 1)
			return (uint64_t)max + 1;
	}
}

static bool dynsym_from_segments(struct elf_file *ef, struct elf_symtab *tab)
{
	size_t entsize = gelf_fsize(ef->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct dyn_tables t;
	uint64_t n = 0;
	uint32_t v;

	read_dynamic(ef, &t);
	if (!t.symtab || !t.strtab || !t.strsz || !entsize)
		return false;
	if (t.gnu_hash)
		n = gnu_hash_count(ef, t.gnu_hash);
	if (!n && t.hash) {
		/* DT_HASH: nbucket, nchain; there are as many chain entries as symbols. */
		Elf_Data *d = elf_image(ef, t.hash, 8, ELF_T_BYTE);

		if (d && d->d_buf && word_at(d, 1, &v))
			n = v;
	}
	if (!n || n > SIZE_MAX / entsize)
		return false;
	if (!elf_symtab_init(tab, elf_image(ef, t.symtab, n * entsize, ELF_T_SYM),
			     elf_image(ef, t.strtab, t.strsz, ELF_T_BYTE)))
		return false;
	tab->n = MIN(n, tab->syms->d_size / entsize);
	tab->is64 = elf_file_is64(ef);
	return true;
}

bool elf_symtab_find(struct elf_file *ef, unsigned int type, struct elf_symtab *tab)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (!ef->shnum)
		return type == SHT_DYNSYM && dynsym_from_segments(ef, tab);
	while ((scn = elf_nextscn(ef->elf, scn))) {
		Elf_Scn *str;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || !sh.sh_entsize)
			continue;
		str = elf_getscn(ef->elf, sh.sh_link);
		if (!elf_symtab_init(tab, elf_scn_data(ef, scn), elf_scn_data(ef, str)))
			return false;
		tab->n = tab->syms->d_size / gelf_fsize(ef->elf, ELF_T_SYM, 1, EV_CURRENT);
		tab->is64 = elf_file_is64(ef) && tab->syms->d_type == ELF_T_SYM;
		return true;
	}
	return false;
}

/* Does the file have the bytes of @sh? */
static bool is_there(const struct elf_file *ef, const GElf_Shdr *sh)
{
	uint64_t size = ef->memsize;
	struct stat st;

	if (!ef->mem)
		size = fstat(ef->fd, &st) ? 0 : (uint64_t)st.st_size;
	return sh->sh_type != SHT_NOBITS && sh->sh_offset <= size && sh->sh_size <= size - sh->sh_offset;
}

bool elf_file_has_symtab(struct elf_file *ef)
{
	const size_t entry = gelf_fsize(ef->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh, str;

	while (ef->shnum && (scn = elf_nextscn(ef->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB && sh.sh_entsize)
			return sh.sh_size >= 2 * entry && is_there(ef, &sh) && gelf_getshdr(elf_getscn(ef->elf, sh.sh_link), &str) &&
			       str.sh_size && is_there(ef, &str);
	return false;
}
