/*
 * The symbols that name code. Tables: gABI 4.2 chapter 4 "Symbol Table"; without section headers
 * the dynamic section leads to .dynsym (chapter 5), whose length only the hash tables tell.
 */
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "elf_file_priv.h"
#include "util.h"
#include "xalloc.h"

/* Whether each ELF_NAME_MAX bytes have a NUL in them: looks at few bytes of an ordinary table. */
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

/* Word @i of a table of 32-bit words; false behind its end. */
static bool word_at(const Elf_Data *d, uint64_t i, uint32_t *out)
{
	if (i >= d->d_size / 4)
		return false;
	memcpy(out, (const char *)d->d_buf + i * 4, 4);
	return true;
}

/*
 * DT_GNU_HASH: nbuckets, symoffset, bloom_size, bloom_shift, the bloom words (of address size), the
 * buckets, then one word for each symbol from symoffset on, whose low bit ends a chain. The last
 * symbol is the end of the chain that starts highest.
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
		if (!elf_symtab_init(tab, elf_scn_data(scn), elf_scn_data(str)))
			return false;
		tab->n = tab->syms->d_size / gelf_fsize(ef->elf, ELF_T_SYM, 1, EV_CURRENT);
		tab->is64 = elf_file_is64(ef) && tab->syms->d_type == ELF_T_SYM;
		return true;
	}
	return false;
}

bool elf_file_has_symtab(struct elf_file *ef)
{
	struct elf_symtab tab;

	return elf_symtab_find(ef, SHT_SYMTAB, &tab) && tab.n > 1;
}

/* ---- the walk ---- */

/*
 * "$x", "$d.12": marks of the ARM and RISC-V ABIs between code and data, not names. Other machines have functions
 * that are called so.
 */
static bool is_mapping_symbol(const struct elf_file *ef, const char *name)
{
	switch (ef->ehdr.e_machine) {
	case EM_ARM:
	case EM_AARCH64:
	case EM_RISCV:
		return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
	default:
		return false;
	}
}

/* Who looks at symbols. */
struct visit {
	bool (*wants)(void *ctx, uint64_t svma, uint64_t size);	/* NULL: all */
	int (*fn)(void *ctx, const struct elf_sym *sym);
	void *ctx;
};

static inline bool is_wanted(const struct visit *v, uint64_t svma, uint64_t size)
{
	return !v->wants || v->wants(v->ctx, svma, size);
}

static int offer(void *visit, const struct elf_sym *sym)
{
	const struct visit *v = visit;

	return is_wanted(v, sym->svma, sym->size) ? v->fn(v->ctx, sym) : 0;
}

static int walk_table(struct elf_file *ef, const struct elf_symtab *tab, bool dynsym, const struct visit *v)
{
	uint8_t *code = NULL;	/* for each section: 1 = executable */
	Elf_Scn *scn = NULL;
	int ret = 0;

	if (ef->shnum) {
		code = xcalloc(ef->shnum, 1);
		while ((scn = elf_nextscn(ef->elf, scn))) {
			size_t i = elf_ndxscn(scn);
			GElf_Shdr sh;

			if (i < ef->shnum && gelf_getshdr(scn, &sh))
				code[i] = (sh.sh_flags & (SHF_EXECINSTR | SHF_ALLOC)) ==
					  (SHF_EXECINSTR | SHF_ALLOC);
		}
	}
	for (size_t i = 1; i < tab->n && !ret; i++) {
		struct elf_sym sym;
		const char *name;
		bool is_code;
		GElf_Sym s;
		uint8_t type;

		if (!elf_symtab_get(tab, i, &s))
			break;
		type = GELF_ST_TYPE(s.st_info);
		if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_COMMON ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		/* SHN_ABS, SHN_XINDEX and files without sections: the address decides. */
		if (s.st_shndx < SHN_LORESERVE && s.st_shndx < ef->shnum)
			is_code = code[s.st_shndx];
		else
			is_code = elf_file_code_end(ef, s.st_value) != 0;
		if (s.st_value + s.st_size < s.st_value)
			s.st_size = 0;
		/* Names are all over the memory: looked at last. */
		if (!is_code || !is_wanted(v, s.st_value, s.st_size))
			continue;
		name = elf_symtab_name(tab, s.st_name);
		if (!name[0] || is_mapping_symbol(ef, name))
			continue;
		sym = (struct elf_sym){
			.svma = s.st_value,
			.size = s.st_size,
			.name = name,
			.type = type,
			.bind = GELF_ST_BIND(s.st_info),
			.dynsym = dynsym,
		};
		ret = v->fn(v->ctx, &sym);
	}
	free(code);
	return ret;
}

static int walk_all(struct elf_file *ef, struct visit *v)
{
	struct elf_symtab tab;
	int ret = 0;

	/* In a relocatable file values are offsets in sections: no addresses, no names for them. */
	if (ef->ehdr.e_type == ET_REL)
		return 0;
	if (elf_symtab_find(ef, SHT_SYMTAB, &tab))
		ret = walk_table(ef, &tab, false, v);
	else
		ret = elf_go_symbols(ef, offer, v);
	if (!ret && elf_symtab_find(ef, SHT_DYNSYM, &tab))
		ret = walk_table(ef, &tab, true, v);
	if (!ret && !ef->plt_done) {
		ef->plt_done = true;
		elf_plt_build(ef);
	}
	for (size_t i = 0; i < ef->nplt && !ret; i++)
		ret = offer(v, &ef->plt[i]);
	return ret;
}

/* ---- several times ---- */

#define REMEMBERED_MAX (1u << 20)	/* symbols, of 40 bytes */

struct elf_syms {
	struct elf_sym *v;
	size_t n, cap;
	bool all;
};

static int remember(void *ctx, const struct elf_sym *sym)
{
	struct elf_syms *syms = ctx;

	if (syms->n == REMEMBERED_MAX)
		return 1;
	XGROW(syms->v, syms->n, syms->cap);
	syms->v[syms->n++] = *sym;
	return 0;
}

/* Room for all that the tables may have: what is not used of it is not touched, and nothing moves. */
static void make_room(struct elf_file *ef, struct elf_syms *syms)
{
	static const unsigned int types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct elf_symtab tab;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (elf_symtab_find(ef, types[i], &tab))
			syms->cap += tab.n;
	syms->cap = MIN(syms->cap + 1, (size_t)REMEMBERED_MAX);
	syms->v = xmalloc(syms->cap * sizeof(*syms->v));
}

void elf_file_remember_symbols(struct elf_file *ef)
{
	if (!ef->syms)
		ef->syms = xcalloc(1, sizeof(*ef->syms));
}

void elf_syms_free(struct elf_file *ef)
{
	if (ef->syms)
		free(ef->syms->v);
	free(ef->syms);
	ef->syms = NULL;
}

int elf_file_symbols_where(struct elf_file *ef, bool (*wants)(void *ctx, uint64_t svma, uint64_t size),
			   int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx)
{
	struct visit v = { wants, fn, ctx }, all = { NULL, remember, ef->syms };
	int ret = 0;

	if (ef->syms && !ef->syms->all) {
		make_room(ef, ef->syms);
		ef->syms->all = !walk_all(ef, &all);
		if (!ef->syms->all)
			elf_syms_free(ef);
	}
	if (!ef->syms)
		return walk_all(ef, &v);
	for (size_t i = 0; i < ef->syms->n && !ret; i++)
		ret = offer(&v, &ef->syms->v[i]);
	return ret;
}

int elf_file_symbols(struct elf_file *ef, int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx)
{
	return elf_file_symbols_where(ef, NULL, fn, ctx);
}
