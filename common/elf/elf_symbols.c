/* Symbols that name code: from symbol tables (elf_symtab.c), Go's function table, and the PLT. */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

/*
 * "$x", "$d.12": ARM and RISC-V ABIs mark code and data with these; they are not names. On other
 * machines functions may have such names.
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

/* The consumer of symbols. */
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
		/* Names are scattered in memory, so they are read last. */
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

	/* In a relocatable file, values are offsets in sections, not addresses. */
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

#define REMEMBERED_MAX (1u << 20)	/* symbols of 40 bytes each */

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

/* Room for everything the tables may have: unused room is never touched, and nothing moves. */
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
