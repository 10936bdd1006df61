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

#include "elf_file.h"
#include "hash.h"
#include "inlines_cu.h"
#include "inlines_split.h"
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
/* Of a whole file; 40 bytes each, and only of units with samples. */
#define ROWS_MAX	(32u << 20)

struct inline_index {
	struct inline_source src;	/* src.dw NULL: no debug info */
	struct module *m;		/* whose this is */
	Dwarf *alt;			/* of the dwz file, NULL when none */
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

static Dwarf *open_dwarf(struct elf_file *ef, const char *path)
{
	Elf *elf;

	/* Relocatable files would need their relocations applied first. */
	if (elf_file_type(ef) == ET_REL || !elf_file_has_section(ef, ".debug_info"))
		return NULL;
	elf = elf_file_handle(ef);
	if (!elf)
		return NULL;
	if (too_large(elf)) {
		pr_info("'%s': more than 2 GiB of debug info: its inlined functions are not shown",
			path);
		return NULL;
	}
	return dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

static struct inline_index *inlines_new(struct module *m)
{
	struct inline_index *ix = xcalloc(1, sizeof(*ix));
	struct elf_file *from = m->elf;
	size_t n;
	Elf *alt;

	ix->m = m;
	ix->src.ranges_left = RANGES_MAX;
	ix->src.rows_left = ROWS_MAX;
	if (m->elf)
		ix->src.dw = open_dwarf(m->elf, m->dso.path);
	if (!ix->src.dw && m->debug) {
		from = m->debug;
		ix->src.dw = open_dwarf(m->debug, m->dso.path);
	}
	if (!ix->src.dw)
		return ix;
	ix->src.code = m->elf ? m->elf : m->debug;
	ix->src.file = from;
	if (dwarf_getaranges(ix->src.dw, &ix->aranges, &n) || !n)
		ix->aranges = NULL;
	alt = m->alt ? elf_file_handle(m->alt) : NULL;
	if (alt && !too_large(alt))
		ix->alt = dwarf_begin_elf(alt, DWARF_C_READ, NULL);
	if (ix->alt) {
		dwarf_setalt(ix->src.dw, ix->alt);
		ix->src.have_alt = true;
	}
	return ix;
}

void inlines_free(struct inline_index *ix)
{
	if (!ix)
		return;
	for (size_t i = 0; i < ix->ncus; i++)
		inline_cu_fini(&ix->cus[i]);
	free(ix->cus);
	ranges_fini(&ix->cu_ranges);
	u64map_fini(&ix->cu_by_die);
	dwarf_end(ix->src.dw);
	dwarf_end(ix->alt);
	free(ix);
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
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			inline_die_ranges(&ix->src, &die, &ix->cu_ranges,
					  cu_index(ix, dwarf_dieoffset(&die)));
	ranges_flatten(&ix->cu_ranges);
}

/* Where the entries of @cu are read. */
static struct inline_source *source_of(struct inline_index *ix, struct inline_cu *cu)
{
	Dwarf_Die die;

	if (!cu->split_tried) {
		cu->split_tried = true;
		if (dwarf_offdie(ix->src.dw, cu->die, &die))
			cu->split = inline_split_open(ix->m, &ix->src, &die);
	}
	return cu->split ? inline_split_source(cu->split) : &ix->src;
}

static struct inline_func *func_in(struct inline_index *ix, struct inline_cu *cu, uint64_t svma)
{
	struct inline_source *src = source_of(ix, cu);
	const struct range *r;

	if (!cu->listed)
		inline_cu_list(src, cu, false);
	r = ranges_find(&cu->ranges, svma);
	if (!r && !cu->listed_deep) {
		inline_cu_list(src, cu, true);
		r = ranges_find(&cu->ranges, svma);
	}
	return r ? &cu->funcs[r->id] : NULL;
}

/* What is known of an address. */
struct place {
	struct inline_cu *cu;	/* NULL: in no unit */
	struct inline_source *src;	/* of its entries */
	struct inline_func *fn;	/* NULL: in no function of the unit; walked */
	uint32_t node;		/* innermost, or INLINE_OUTERMOST */
};

/* A unit that holds @svma and a function in it that does; or the unit alone, as of assembly. */
static void find_unit(struct inline_index *ix, uint64_t svma, struct place *pl)
{
	Dwarf_Arange *ar = ix->aranges ? dwarf_getarange_addr(ix->aranges, svma) : NULL;
	const struct range *r;
	Dwarf_Off off;
	uint32_t cu;

	if (ar && dwarf_getarangeinfo(ar, NULL, NULL, &off) == 0) {
		cu = cu_index(ix, off);	/* may move ix->cus */
		pl->cu = &ix->cus[cu];
		pl->fn = func_in(ix, pl->cu, svma);
	}
	if (pl->fn)
		return;
	if (!ix->mapped) {
		uint32_t had = pl->cu ? (uint32_t)(pl->cu - ix->cus) : 0;

		map_units(ix);
		if (pl->cu)
			pl->cu = &ix->cus[had];
	}
	r = ranges_find(&ix->cu_ranges, svma);
	if (r) {
		pl->cu = &ix->cus[r->id];
		pl->fn = func_in(ix, pl->cu, svma);
	}
}

static void find_place(struct module *m, uint64_t svma, struct place *pl)
{
	const struct range *r;

	*pl = (struct place){ .node = INLINE_OUTERMOST };
	if (!m->inlines)
		m->inlines = inlines_new(m);
	if (!m->inlines->src.dw)
		return;
	find_unit(m->inlines, svma, pl);
	if (!pl->fn)
		return;
	pl->src = source_of(m->inlines, pl->cu);
	if (!pl->fn->walked)
		inline_func_walk(pl->src, pl->fn);
	r = ranges_find(&pl->fn->ranges, svma);
	if (r)
		pl->node = r->id;
}

size_t inlines_lookup(struct module *m, struct svma addr, const char **names, size_t max)
{
	struct place pl;
	uint32_t node;
	size_t n = 0;

	find_place(m, addr.v, &pl);
	for (node = pl.node; node != INLINE_OUTERMOST && n < max; node = pl.fn->nodes[node].parent) {
		const char *name = inline_node_name(pl.src, &pl.fn->nodes[node]);

		/* Without a name (the dwz file is missing) a frame would say nothing. */
		if (name)
			names[n++] = name;
	}
	return n;
}

size_t inlines_lines(struct module *m, struct svma addr, struct source_line *out, size_t max)
{
	const struct linetable *lt;
	struct source_line at = { NULL, 0 };
	struct place pl;
	uint64_t file;
	uint32_t node;
	size_t n = 0;

	if (!max)
		return 0;
	find_place(m, addr.v, &pl);
	if (!pl.cu) {
		out[0] = at;
		return 1;
	}
	lt = inline_cu_lines(&m->inlines->src, pl.cu);
	if (linetable_find(lt, addr.v, &file, &at.line))
		at.file = linetable_file(lt, file);
	for (node = pl.node; node != INLINE_OUTERMOST; node = pl.fn->nodes[node].parent) {
		struct inline_node *in = &pl.fn->nodes[node];

		if (n + 1 < max && inline_node_name(pl.src, in))
			out[n++] = at;
		inline_node_call(pl.src, in, &file, &at.line);
		at.file = linetable_file(lt, file);
	}
	out[n++] = at;
	return n;
}
