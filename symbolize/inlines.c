/*
 * Inlined functions from debug info. An address leads to its compilation unit (.debug_aranges, else
 * the ranges of the units), on the first hit of a unit its functions are listed, on the first hit
 * of a function its tree is read; after that a lookup is three binary searches. Nothing is read for
 * units and functions that no sample is in.
 */
#include "names.h"

#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "dwz.h"
#include "elf_file.h"
#include "hash.h"
#include "inlines_cu.h"
#include "log.h"
#include "ranges.h"
#include "xalloc.h"

/* .debug_info, or all that would have to be decompressed. More is not worth its time and memory. */
#define DEBUG_INFO_MAX	(2ull << 30)
/*
 * Of a whole file, of which libxul and clang need a few million. One list can be named by all
 * entries.
 */
#define RANGES_MAX	(64u << 20)

/* Less debug info than this is read faster than it is shared out. Bytes of .debug_info. */
#define SPLIT_MIN	(2u << 20)

struct inline_index {
	struct inline_source src;	/* src.dw NULL: no debug info */
	struct elf_file *from;		/* the file that src.dw reads; borrowed */
	bool opened;			/* src.dw was tried */
	unsigned int part;		/* number of the handle it reads through */
	struct inline_index *next;	/* owned; the part behind this one, NULL in the last */
	uint64_t next_start;		/* svma from which on @next is asked */
	struct elf_file *alt_file;	/* dwz file, NULL when none */
	Dwarf *alt;
	Dwarf_Aranges *aranges;		/* borrowed from src.dw; NULL when there are none */
	bool mapped;			/* cu_ranges were made */
	struct ranges cu_ranges;	/* svma -> index of cus */
	struct inline_cu *cus;		/* owned; those met so far */
	size_t ncus, cap;
	struct u64map cu_by_die;	/* Dwarf_Off of the unit's entry -> index of cus */
};

/* ---- the file ---- */

/*
 * Would reading the debug info take memory beyond all measure? Sizes are as the headers state them.
 */
static bool too_large(Elf *elf)
{
	uint64_t inflated = 0;
	Elf_Scn *scn = NULL;
	size_t shstrndx;

	if (elf_getshdrstrndx(elf, &shstrndx))
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr sh;
		GElf_Chdr ch;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, shstrndx, sh.sh_name);
		if (!name)
			continue;
		if ((sh.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &ch)) {
			if (ch.ch_size > DEBUG_INFO_MAX)
				return true;
			inflated += ch.ch_size;
		} else if (!strcmp(name, ".debug_info") && sh.sh_size > DEBUG_INFO_MAX) {
			return true;
		}
	}
	return inflated > DEBUG_INFO_MAX;
}

/* A file with debug info that we read. */
static bool is_usable(struct elf_file *ef, const char *path)
{
	Elf *elf;

	/* Relocatable files would need their relocations applied first. */
	if (!ef || elf_file_type(ef) == ET_REL || !elf_file_has_section(ef, ".debug_info"))
		return false;
	elf = elf_file_handle(ef);
	if (!elf)
		return false;
	if (too_large(elf)) {
		pr_info("'%s': more than 2 GiB of debug info: its inlined functions are not shown",
			path);
		return false;
	}
	return true;
}

/* True when @ix can be asked. By one thread for each part. */
static bool open_index(struct inline_index *ix)
{
	Elf *elf, *alt;
	size_t n;

	if (ix->opened)
		return ix->src.dw != NULL;
	ix->opened = true;
	elf = ix->from ? elf_file_handle_of(ix->from, ix->part) : NULL;
	ix->src.dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (!ix->src.dw)
		return false;
	if (dwarf_getaranges(ix->src.dw, &ix->aranges, &n) || !n)
		ix->aranges = NULL;
	ix->alt_file = dwz_open(ix->from);
	alt = ix->alt_file ? elf_file_handle(ix->alt_file) : NULL;
	if (alt && !too_large(alt))
		ix->alt = dwarf_begin_elf(alt, DWARF_C_READ, NULL);
	if (ix->alt) {
		dwarf_setalt(ix->src.dw, ix->alt);
		ix->src.have_alt = true;
	}
	return true;
}

static struct inline_index *index_new(struct module *m, struct elf_file *from, unsigned int part)
{
	struct inline_index *ix = xcalloc(1, sizeof(*ix));

	ix->from = from;
	ix->part = part;
	ix->src.ranges_left = RANGES_MAX;
	ix->src.code = m->elf ? m->elf : m->debug;
	return ix;
}

static struct inline_index *inlines_new(struct module *m)
{
	struct elf_file *from = NULL;

	if (is_usable(m->elf, m->dso.path))
		from = m->elf;
	else if (is_usable(m->debug, m->dso.path))
		from = m->debug;
	return index_new(m, from, 0);
}

/* The part for @svma, ready to be asked; NULL when there is no debug info. */
static struct inline_index *index_for(struct module *m, uint64_t svma)
{
	struct inline_index *ix;

	if (!m->inlines)
		m->inlines = inlines_new(m);
	for (ix = m->inlines; ix->next && svma >= ix->next_start; ix = ix->next)
		;
	return open_index(ix) ? ix : NULL;
}

unsigned int inlines_split(struct module *m, const struct svma *starts, unsigned int n)
{
	struct inline_index *ix;
	unsigned int i;

	if (!m->inlines)
		m->inlines = inlines_new(m);
	ix = m->inlines;
	if (ix->next || ix->opened || !ix->from ||
	    elf_file_section_size(ix->from, ".debug_info") < SPLIT_MIN)
		return 1;
	for (i = 1; i < n && elf_file_handle_of(ix->from, i); i++) {
		ix->next = index_new(m, ix->from, i);
		ix->next_start = starts[i].v;
		ix = ix->next;
	}
	return i;
}

static void index_free(struct inline_index *ix)
{
	for (size_t i = 0; i < ix->ncus; i++)
		inline_cu_fini(&ix->cus[i]);
	free(ix->cus);
	ranges_fini(&ix->cu_ranges);
	u64map_fini(&ix->cu_by_die);
	dwarf_end(ix->src.dw);
	dwarf_end(ix->alt);
	elf_file_close(ix->alt_file);
	free(ix);
}

void inlines_free(struct inline_index *ix)
{
	while (ix) {
		struct inline_index *next = ix->next;

		index_free(ix);
		ix = next;
	}
}

/* ---- units ---- */

static uint32_t cu_index(struct inline_index *ix, Dwarf_Off die)
{
	bool is_new;
	uint64_t *slot = u64map_put(&ix->cu_by_die, die, &is_new);

	if (is_new) {
		*slot = ix->ncus;
		XGROW(ix->cus, ix->ncus, ix->cap);
		ix->cus[ix->ncus++] = (struct inline_cu){ .die = die, .ranges = RANGES_INIT };
	}
	return (uint32_t)*slot;
}

/*
 * .debug_aranges is optional for each unit (clang leaves it out), so what it lacks is looked for
 * here.
 */
static void map_units(struct inline_index *ix)
{
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die;

	ix->mapped = true;
	/* No subdie is asked for: libdw would open the .dwo file whose path the unit states. */
	while (dwarf_get_units(ix->src.dw, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_compile)
			inline_die_ranges(&ix->src, &die, &ix->cu_ranges,
					  cu_index(ix, dwarf_dieoffset(&die)));
	ranges_flatten(&ix->cu_ranges);
}

static struct inline_func *func_in(struct inline_index *ix, struct inline_cu *cu, uint64_t svma)
{
	const struct range *r;

	if (!cu->listed)
		inline_cu_list(&ix->src, cu, false);
	r = ranges_find(&cu->ranges, svma);
	if (!r && !cu->listed_deep) {
		inline_cu_list(&ix->src, cu, true);
		r = ranges_find(&cu->ranges, svma);
	}
	return r ? &cu->funcs[r->id] : NULL;
}

static struct inline_func *find_func(struct inline_index *ix, uint64_t svma)
{
	Dwarf_Arange *ar = ix->aranges ? dwarf_getarange_addr(ix->aranges, svma) : NULL;
	struct inline_func *fn = NULL;
	const struct range *r;
	Dwarf_Off off;

	if (ar && dwarf_getarangeinfo(ar, NULL, NULL, &off) == 0) {
		uint32_t cu = cu_index(ix, off);	/* may move ix->cus */

		fn = func_in(ix, &ix->cus[cu], svma);
	}
	if (fn)
		return fn;
	if (!ix->mapped)
		map_units(ix);
	r = ranges_find(&ix->cu_ranges, svma);
	return r ? func_in(ix, &ix->cus[r->id], svma) : NULL;
}

size_t inlines_lookup(struct module *m, struct svma addr, const char **names, size_t max)
{
	struct inline_index *ix = index_for(m, addr.v);
	struct inline_func *fn;
	const struct range *r;
	uint32_t node;
	size_t n = 0;

	fn = ix ? find_func(ix, addr.v) : NULL;
	if (!fn)
		return 0;
	if (!fn->walked)
		inline_func_walk(&ix->src, fn);
	r = ranges_find(&fn->ranges, addr.v);
	for (node = r ? r->id : INLINE_OUTERMOST; node != INLINE_OUTERMOST && n < max;
	     node = fn->nodes[node].parent) {
		const char *name = inline_node_name(&ix->src, &fn->nodes[node]);

		/* Without a name (the dwz file is missing) a frame would say nothing. */
		if (name)
			names[n++] = name;
	}
	return n;
}
