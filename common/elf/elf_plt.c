/*
 * Names for PLT entries, which no symbol table has. An entry jumps through a GOT slot, and a
 * relocation states the symbol of that slot (psABI x86-64 1.0, 5.2 and 4.4). The instructions are
 * decoded rather than entries counted, so that lazy, -z now, IBT (.plt.sec) and bnd layouts of any
 * linker come out right.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

struct slot {
	uint64_t got;		/* svma of the GOT slot */
	uint64_t resolver;	/* svma of the resolver (IRELATIVE), else 0 */
	const char *name;	/* borrowed; NULL: only the resolver is known */
	uint32_t order;		/* index in .rela.plt, which lazy entries push; else UINT32_MAX */
};

struct slots {
	struct slot *v;		/* sorted by got when complete */
	size_t n, cap;
	const char **by_order;	/* names by index in .rela.plt, NULL where unknown */
	size_t norder;
};

static int slot_cmp(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->got < y->got ? -1 : x->got > y->got;
}

static const char *reloc_name(const struct elf_symtab *dynsym, uint64_t index)
{
	const char *name;
	GElf_Sym s;

	if (!dynsym->syms || !index || index >= dynsym->n ||
	    !elf_symtab_get(dynsym, index, &s))
		return NULL;
	name = elf_symtab_name(dynsym, s.st_name);
	return name[0] ? name : NULL;
}

/*
 * The relocations of section @scn, without the leading ones that name no symbol: in libpython 3.11
 * these are 22,671 of 35,969.
 */
static Elf_Data *relocs_of(struct elf_file *ef, Elf_Scn *scn, const GElf_Shdr *sh)
{
	uint64_t skip = elf_relative_relocs(ef, sh->sh_addr);
	size_t size = gelf_fsize(ef->elf, ELF_T_RELA, 1, EV_CURRENT);
	Elf_Data *d = NULL;

	if (skip && size && skip <= sh->sh_size / size) {
		skip *= size;
		if (skip == sh->sh_size)
			return NULL;
		d = elf_image(ef, sh->sh_addr + skip, sh->sh_size - skip, ELF_T_RELA);
	}
	return d ? d : elf_scn_data(ef, scn);
}

static void read_relocs(Elf_Data *d, const struct elf_symtab *dynsym, bool is_plt, struct slots *out)
{
	GElf_Rela r;

	for (int i = 0; d && gelf_getrela(d, i, &r); i++) {
		struct slot s = { .got = r.r_offset, .order = is_plt ? (uint32_t)i : UINT32_MAX };

		switch (GELF_R_TYPE(r.r_info)) {
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT:
			s.name = reloc_name(dynsym, GELF_R_SYM(r.r_info));
			break;
		case R_X86_64_IRELATIVE:
			s.resolver = (uint64_t)r.r_addend;
			break;
		}
		if (!s.name && !s.resolver)
			continue;
		XGROW(out->v, out->n, out->cap);
		out->v[out->n++] = s;
	}
}

/*
 * A static binary identifies an indirect function only by its resolver. If the resolver has several
 * names, a public, short one is better.
 */
static bool better_name(const char *a, const char *b)
{
	bool ua, ub;

	if (!b)
		return true;
	ua = a[0] == '_';
	ub = b[0] == '_';
	if (ua != ub)
		return ub;
	return strlen(a) != strlen(b) ? strlen(a) < strlen(b) : strcmp(a, b) < 0;
}

static int resolver_cmp(const void *a, const void *b)
{
	const struct slot *x = *(struct slot *const *)a, *y = *(struct slot *const *)b;

	return x->resolver < y->resolver ? -1 : x->resolver > y->resolver;
}

static void name_resolvers_from(const struct elf_symtab *tab, struct slot **by, size_t n)
{
	for (size_t i = 1; i < tab->n; i++) {
		const char *name;
		GElf_Sym s;
		size_t k;

		if (!elf_symtab_get(tab, i, &s))
			return;
		if (s.st_shndx == SHN_UNDEF || (GELF_ST_TYPE(s.st_info) != STT_GNU_IFUNC &&
						GELF_ST_TYPE(s.st_info) != STT_FUNC))
			continue;
		k = BISECT(n, m, by[m]->resolver < s.st_value);
		if (k == n || by[k]->resolver != s.st_value)
			continue;
		name = elf_symtab_name(tab, s.st_name);
		if (name[0] && better_name(name, by[k]->name))
			by[k]->name = name;
	}
}

static void name_resolvers(struct elf_file *ef, struct slots *slots)
{
	struct slot **by = NULL;
	struct elf_symtab tab;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < slots->n; i++) {
		if (slots->v[i].name || !slots->v[i].resolver)
			continue;
		XGROW(by, n, cap);
		by[n++] = &slots->v[i];
	}
	if (n) {
		qsort(by, n, sizeof(*by), resolver_cmp);
		if (elf_symtab_find(ef, SHT_SYMTAB, &tab) || elf_symtab_find(ef, SHT_DYNSYM, &tab))
			name_resolvers_from(&tab, by, n);
		/* Several slots may share a resolver: the search found only the first of them. */
		for (size_t i = 1; i < n; i++) {
			if (!by[i]->name && by[i]->resolver == by[i - 1]->resolver)
				by[i]->name = by[i - 1]->name;
		}
	}
	free(by);
}

static void index_by_order(struct slots *slots)
{
	for (size_t i = 0; i < slots->n; i++) {
		if (slots->v[i].order != UINT32_MAX)
			slots->norder = MAX(slots->norder, (size_t)slots->v[i].order + 1);
	}
	slots->by_order = xcalloc(slots->norder + 1, sizeof(*slots->by_order));
	for (size_t i = 0; i < slots->n; i++) {
		if (slots->v[i].order != UINT32_MAX)
			slots->by_order[slots->v[i].order] = slots->v[i].name;
	}
}

/*
 * The GOT slot that the entry of @len bytes at @p (svma @at) jumps through, or its index in
 * .rela.plt if it is the lazy half, which only pushes it. endbr64 and bnd may come first.
 */
static bool decode_entry(const uint8_t *p, size_t len, uint64_t at, uint64_t *got, uint32_t *index)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t i = 0;
	int32_t disp;

	*got = 0;
	*index = UINT32_MAX;
	if (len >= 4 && memcmp(p, endbr64, 4) == 0)
		i = 4;
	if (i < len && p[i] == 0xf2)
		i++;
	if (i + 6 <= len && p[i] == 0xff && p[i + 1] == 0x25) {		/* jmp *disp(%rip) */
		memcpy(&disp, p + i + 2, 4);
		*got = at + i + 6 + (uint64_t)(int64_t)disp;
		return true;
	}
	if (i + 5 <= len && p[i] == 0x68) {				/* push $index */
		memcpy(index, p + i + 1, 4);
		return *index != UINT32_MAX;
	}
	return false;
}

/*
 * Entries have 16 bytes, or 8 when an entry is only "jmp *slot; xchg %ax,%ax" (.plt.got, .plt of
 * static programs).
 */
static size_t entry_size(const uint8_t *data, size_t size)
{
	if (size >= 8 && !memcmp(data, "\xff\x25", 2) && !memcmp(data + 6, "\x66\x90", 2))
		return 8;
	return 16;
}

/* "NAME@plt", owned by the caller. */
static char *at_plt(const char *name)
{
	const size_t len = strlen(name);
	char *s = xmalloc(len + sizeof("@plt"));

	memcpy(s, name, len);
	memcpy(s + len, "@plt", sizeof("@plt"));
	return s;
}

static void name_entries(struct elf_file *ef, const char *section, const struct slots *slots,
			 size_t *cap)
{
	const uint8_t *data;
	size_t size, entsize;
	uint64_t svma;

	if (elf_file_section(ef, section, &data, &size, &svma))
		return;
	entsize = entry_size(data, size);
	for (size_t i = 0; i + entsize <= size; i += entsize) {
		const struct slot *s;
		const char *name;
		struct slot key;
		uint32_t index;

		if (!decode_entry(data + i, entsize, svma + i, &key.got, &index))
			continue;
		if (index == UINT32_MAX) {
			s = bsearch(&key, slots->v, slots->n, sizeof(key), slot_cmp);
			name = s ? s->name : NULL;
		} else {
			name = index < slots->norder ? slots->by_order[index] : NULL;
		}
		if (!name)
			continue;
		XGROW(ef->plt, ef->nplt, *cap);
		ef->plt[ef->nplt++] = (struct elf_sym){
			.svma = svma + i, .size = entsize, .name = at_plt(name),
			.type = STT_FUNC, .bind = STB_LOCAL,
		};
	}
}

void elf_plt_build(struct elf_file *ef)
{
	struct elf_symtab dynsym = { 0 };
	struct slots slots = { 0 };
	Elf_Scn *scn = NULL;
	size_t cap = 0;

	if (ef->ehdr.e_machine != EM_X86_64 || !ef->shnum)
		return;
	if (!elf_symtab_find(ef, SHT_DYNSYM, &dynsym))
		memset(&dynsym, 0, sizeof(dynsym));
	while ((scn = elf_nextscn(ef->elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		name = elf_strptr(ef->elf, ef->shstrndx, sh.sh_name);
		read_relocs(relocs_of(ef, scn, &sh), &dynsym, name && strcmp(name, ".rela.plt") == 0, &slots);
	}
	if (slots.n) {
		name_resolvers(ef, &slots);
		index_by_order(&slots);
		qsort(slots.v, slots.n, sizeof(*slots.v), slot_cmp);
		name_entries(ef, ".plt", &slots, &cap);
		name_entries(ef, ".plt.sec", &slots, &cap);
		name_entries(ef, ".plt.got", &slots, &cap);
	}
	free(slots.by_order);
	free(slots.v);
}

void elf_plt_free(struct elf_file *ef)
{
	for (size_t i = 0; i < ef->nplt; i++)
		free((char *)(uintptr_t)ef->plt[i].name);
	free(ef->plt);
}
