/*
 * Inlined functions from debug info. An address leads to its compilation unit (by .debug_aranges,
 * or by the ranges of the units). The first hit in a unit lists its functions; the first hit in a
 * function reads its tree. From then on, a lookup is three binary searches. Units and functions
 * without samples are never read.
 */
#include "debuginfo/inlines.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "dwarf/aranges.h"
#include "debuginfo/debugsource.h"
#include "debuginfo/inline_cache.h"
#include "debuginfo/inlines_cu.h"
#include "debuginfo/inlines_expect.h"
#include "debuginfo/inlines_source.h"
#include "debuginfo/inlines_split.h"
#include "elf/elf_file.h"
#include "support/cache.h"
#include "base/ranges.h"

/*
 * Limit for .debug_info, and for all sections that would be decompressed. Larger ones are not worth
 * the time and memory.
 */
#define DEBUG_INFO_MAX	(2ull << 30)
/* Limit per file; libxul and clang need a few million. All entries can refer to the same list. */
#define RANGES_MAX	(64u << 20)
/* Limit per file; 40 bytes each, and only for units with samples. */
#define ROWS_MAX	(32u << 20)

/* Below this many bytes of .debug_info, reading is faster than sharing the work among threads. */
#define SPLIT_MIN	(2u << 20)
/* ... and faster than writing a cache file and finding it again. */
#define CACHE_MIN	(1u << 20)
/* Bytes. No unit header is longer (DWARF 5, 7.5.1). */
#define UNIT_HEADER_MAX	40
/* Bytes to read for a unit's first entry: mostly less than a page. */
#define TOP_BYTES	1024
#define CACHE_KIND	"inl"
#define CACHE_VERSION	1
#define CACHE_ENTRIES_MAX (2u << 20)

struct inline_index {
	struct inline_source src;	/* src.dw NULL: no debug info */
	struct elf_file *from;		/* the file that src.dw reads; borrowed */
	bool opened;			/* opening src.dw was tried */
	const char *path;		/* of the binary; borrowed */
	/* Only in the first part: */
	const struct cache *cache;	/* borrowed; NULL: none */
	struct inline_cache *kept;	/* from the cache; NULL: none */
	struct cache_key key;
	struct inlines_expect *expect;	/* owned; NULL: nothing is unpacked ahead */
	/* In each part: */
	unsigned int part;		/* number of the handle it reads through */
	struct inline_index *next;	/* owned; the next part, NULL in the last */
	uint64_t next_start;		/* lowest svma of @next */
	bool is_split;			/* some units are in .dwo files, found or not */
	struct debug_files *files;	/* borrowed */
	Dwarf *alt;			/* of the dwz file, NULL if none */
	struct ranges aranges;		/* svma -> the unit's offset in .debug_info; may lack units */
	bool mapped;			/* cu_ranges were made */
	struct ranges cu_ranges;	/* svma -> index of cus */
	struct inline_cu *cus;		/* owned; the units seen so far */
	size_t ncus, cap;
	struct u64map missed;		/* svmas that are in no function */
	struct u64map cu_by_die;	/* Dwarf_Off of the unit's entry -> index of cus */
};

/* ---- the file ---- */

/* Unpacked size that a section in the older compressed format states: "ZLIB", then the size. */
static uint64_t zdebug_size(Elf_Scn *scn)
{
	const Elf_Data *raw = elf_rawdata(scn, NULL);
	uint64_t size = 0;

	if (!raw || !raw->d_buf || raw->d_size < 12 || memcmp(raw->d_buf, "ZLIB", 4))
		return 0;
	for (int i = 4; i < 12; i++)
		size = size << 8 | ((const uint8_t *)raw->d_buf)[i];
	return size;
}

/* Would reading the debug info take too much memory? Trusts the sizes in the headers. */
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
		} else if (!strncmp(name, ".zdebug_", 8)) {
			uint64_t size = zdebug_size(scn);

			if (size > DEBUG_INFO_MAX)
				return true;
			inflated += size;
		} else if (!strcmp(name, ".debug_info") && sh.sh_size > DEBUG_INFO_MAX) {
			return true;
		}
	}
	return inflated > DEBUG_INFO_MAX;
}

/* In relocatable files, relocations would have to be applied first. */
static bool has_debug_info(struct elf_file *ef)
{
	return ef && elf_file_type(ef) != ET_REL && elf_file_has_section(ef, ".debug_info");
}

/* Reads through the part's own handle: other threads read through theirs at the same time. */
static void read_aranges(struct inline_index *ix, Elf *elf)
{
	uint64_t info_size = 0;
	Elf_Data *data = NULL;
	Elf_Scn *scn = NULL;
	size_t shstrndx;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &shstrndx))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, shstrndx, sh.sh_name) : NULL;

		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		if (inline_section_is(name, ".debug_info"))
			info_size = sh.sh_size;
		else if (inline_section_is(name, ".debug_aranges"))
			data = elf_rawdata(scn, NULL);
	}
	if (data && data->d_buf)
		aranges_read(data->d_buf, data->d_size, info_size, &ix->aranges);
}

/* True if lookups in @ix are possible. One thread per part. */
static bool open_index(struct inline_index *ix)
{
	Elf *elf, *alt;

	if (ix->opened)
		return ix->src.dw != NULL;
	ix->opened = true;
	elf = ix->from ? elf_file_handle_of(ix->from, ix->part) : NULL;
	if (elf && too_large(elf)) {
		pr_info("'%s' has more than 2 GiB of debug info: its inlined functions are not shown",
			ix->path);
		return false;
	}
	ix->src.dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (!ix->src.dw)
		return false;
	read_aranges(ix, elf);
	alt = ix->files->alt ? elf_file_handle_of(ix->files->alt, ix->part) : NULL;
	if (alt && !too_large(alt))
		ix->alt = dwarf_begin_elf(alt, DWARF_C_READ, NULL);
	if (ix->alt) {
		elf_file_need_info(ix->files->alt, 0, UINT64_MAX);
		dwarf_setalt(ix->src.dw, ix->alt);
		ix->src.alt = ix->files->alt;
	}
	return true;
}

static struct inline_index *index_new(struct elf_file *from, const struct elf_file *code, struct debug_files *files,
				      const char *path, unsigned int part)
{
	struct inline_index *ix = xcalloc(1, sizeof(*ix));

	ix->files = files;
	ix->from = from;
	ix->part = part;
	ix->path = path;
	ix->src.ranges_left = RANGES_MAX;
	ix->src.rows_left = ROWS_MAX;
	ix->src.file = from;
	ix->src.code = code;
	return ix;
}

/* Loads the results of earlier runs. Reads no debug info. */
static void read_kept(struct inline_index *ix)
{
	size_t size;
	void *data;

	if (!ix->cache || elf_file_section_size(ix->from, ".debug_info") < CACHE_MIN) {
		ix->key.unknown = 1;
		return;
	}
	/*
	 * All files that the results depend on. The dwz file may be missing today and be there
	 * another day.
	 */
	cache_key_add(&ix->key, ix->from);
	if (ix->src.code != ix->from)
		cache_key_add(&ix->key, ix->src.code);
	if (ix->files->alt)
		cache_key_add(&ix->key, ix->files->alt);
	data = cache_read(ix->cache, &ix->key, CACHE_KIND, CACHE_VERSION, &size);
	ix->kept = data ? inline_cache_parse(data, size) : NULL;
	free(data);
}

struct inline_index *inlines_new(struct elf_file *elf, struct debug_files *files, const char *path, const struct cache *cache)
{
	struct elf_file *from = has_debug_info(elf) ? elf : files->debug;
	struct inline_index *ix;

	ix = index_new(has_debug_info(from) ? from : NULL, elf ? elf : files->debug, files, path, 0);
	ix->cache = cache;
	if (ix->from)
		read_kept(ix);
	return ix;
}

void inlines_ahead(struct inline_index *ix)
{
	unsigned int cpus = cpus_usable();

	/* The cached results probably cover all lookups. */
	if (ix->from && !ix->kept && !ix->expect && cpus > 1)
		ix->expect = inlines_expect_new(ix->from, cpus - 1);
}

void inlines_expected(const struct inline_index *ix, uint64_t off)
{
	uint64_t svma;

	if (ix->expect && elf_file_off_to_svma(ix->src.code, off, &svma))
		inlines_expect_at(ix->expect, ix->src.code, svma);
}

/* The part for @svma, ready for lookups; NULL if there is no debug info. */
static struct inline_index *index_for(struct inline_index *ix, uint64_t svma)
{
	while (ix->next && svma >= ix->next_start)
		ix = ix->next;
	return open_index(ix) ? ix : NULL;
}

bool inlines_none(const struct inline_index *ix)
{
	return !ix->from;
}

unsigned int inlines_split(struct inline_index *ix, const struct svma *starts, unsigned int n, bool lines)
{
	unsigned int i;

	if (ix->next || ix->opened || !ix->from ||
	    elf_file_section_size(ix->from, ".debug_info") < SPLIT_MIN)
		return 1;
	/* What the parts share is made and read here, before there are threads. */
	if (lines)
		inline_source_lines(&ix->src);
	for (i = 1; i < n && elf_file_handle_of(ix->from, i); i++) {
		if (ix->files->alt && !elf_file_handle_of(ix->files->alt, i))
			break;
		ix->next = index_new(ix->from, ix->src.code, ix->files, ix->path, i);
		ix->next_start = starts[i].v;
		ix->next->src.have_lines = ix->src.have_lines;
		ix->next->src.lines = ix->src.lines;
		ix = ix->next;
	}
	return i;
}

static void index_free(struct inline_index *ix)
{
	for (size_t i = 0; i < ix->ncus; i++)
		inline_cu_fini(&ix->cus[i]);
	free(ix->cus);
	ranges_fini(&ix->aranges);
	ranges_fini(&ix->cu_ranges);
	u64map_fini(&ix->cu_by_die);
	u64map_fini(&ix->missed);
	inlines_expect_free(ix->expect);
	inline_cache_free(ix->kept);
	dies_free(ix->src.dies);
	dwarf_end(ix->src.dw);
	dwarf_end(ix->alt);
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
 * Makes the first entry of a unit readable: its attributes, that is. Their end is only known after
 * reading them, so more bytes are unpacked until the end lies within.
 */
static void need_top(struct inline_index *ix, Dwarf_Die *die, uint64_t end)
{
	uint64_t at = dwarf_dieoffset(die);
	Dwarf_Die child;

	for (uint64_t len = TOP_BYTES; at + len < end; len *= 4) {
		elf_file_need_info(ix->from, at, at + len);
		if (!dwarf_child(die, &child) && dwarf_dieoffset(&child) <= at + len)
			return;
	}
	elf_file_need_info(ix->from, at, end);
}

/* The end offset of the unit with first entry @die; 0: not a unit. */
static uint64_t unit_end(struct inline_index *ix, Dwarf_Die *die)
{
	Dwarf_Off start = dwarf_dieoffset(die) - dwarf_cuoffset(die), next;
	size_t header;

	return dwarf_next_unit(ix->src.dw, start, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) ? 0 : next;
}

/*
 * .debug_aranges is optional per unit, and clang leaves it out, so units that it lacks are looked
 * up here. As there, the first unit that claims an address wins.
 */
static void map_units(struct inline_index *ix)
{
	uint32_t *index = NULL;	/* by unit looked at: its index in cus */
	size_t n = 0, cap = 0;
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die;

	ix->mapped = true;
	/* All unit headers. */
	elf_file_need_info(ix->from, UINT64_MAX, UINT64_MAX);
	/*
	 * No subdie is requested: for it, libdw would open the .dwo file at the path that the unit
	 * states.
	 */
	while (dwarf_get_units(ix->src.dw, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton) {
			need_top(ix, &die, unit_end(ix, &die));
			XGROW(index, n, cap);
			index[n] = cu_index(ix, dwarf_dieoffset(&die));
			inline_die_ranges(&ix->src, &die, &ix->cu_ranges, UINT32_MAX - (uint32_t)n++);
		}
	ranges_flatten(&ix->cu_ranges);
	for (size_t i = 0; i < ix->cu_ranges.n; i++)
		ix->cu_ranges.v[i].id = index[UINT32_MAX - ix->cu_ranges.v[i].id];
	free(index);
}

/* The source from which the entries of @cu are read. */
static struct inline_source *source_of(struct inline_index *ix, struct inline_cu *cu)
{
	/* A split unit may be in the binary's package, which several threads use. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	Dwarf_Die die;

	if (!cu->split_tried) {
		cu->split_tried = true;
		if (dwarf_offdie(ix->src.dw, cu->die, &die)) {
			ix->is_split |= dwarf_hasattr(&die, DW_AT_dwo_name) ||
					dwarf_hasattr(&die, DW_AT_GNU_dwo_name);
			pthread_mutex_lock(&lock);
			cu->split = inline_split_open(ix->files, ix->path, &ix->src, &die);
			pthread_mutex_unlock(&lock);
		}
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

/* Where an address is. */
struct place {
	struct inline_cu *cu;	/* NULL: in no unit */
	struct inline_source *src;	/* of the unit's entries */
	struct inline_func *fn;	/* NULL: in no function of the unit; already walked */
	uint32_t node;		/* innermost, or INLINE_OUTERMOST */
};

/*
 * The unit that .debug_aranges names for @svma: offset of its first entry, with the whole unit
 * readable; 0: none.
 */
static Dwarf_Off named_unit(struct inline_index *ix, uint64_t svma)
{
	const struct range *r = ranges_find(&ix->aranges, svma);
	Dwarf_Off next, abbrev;
	size_t header;

	if (!r)
		return 0;
	elf_file_need_info(ix->from, r->id, (uint64_t)r->id + UNIT_HEADER_MAX);
	if (dwarf_next_unit(ix->src.dw, r->id, &next, &header, NULL, &abbrev, NULL, NULL, NULL, NULL))
		return 0;
	elf_file_need_info(ix->from, r->id, next);
	return r->id + header;
}

/* Makes a whole unit readable; so far, only its first entry may be. */
static void need_unit(struct inline_index *ix, const struct inline_cu *cu)
{
	Dwarf_Die die;

	if (!cu->listed && dwarf_offdie(ix->src.dw, cu->die, &die))
		elf_file_need_info(ix->from, cu->die, unit_end(ix, &die));
}

/*
 * Finds a unit that holds @svma, and in it a function that does. The function may be missing, as
 * for assembly.
 */
static void find_unit(struct inline_index *ix, uint64_t svma, struct place *pl)
{
	Dwarf_Off off = named_unit(ix, svma);
	const struct range *r;
	uint32_t cu;

	if (off) {
		cu = cu_index(ix, off);	/* may move ix->cus */
		pl->cu = &ix->cus[cu];
		pl->fn = func_in(ix, pl->cu, svma);
	}
	/* No unit has the PLT, and to find that out, all units would have to be read. */
	if (pl->fn || elf_file_in_plt(ix->src.code, svma))
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
		need_unit(ix, pl->cu);
		pl->fn = func_in(ix, pl->cu, svma);
	}
}

/* Returns the part that was used. NULL if there is no debug info; then *@pl is empty. */
static struct inline_index *find_place(struct inline_index *ix, uint64_t svma, struct place *pl)
{
	const struct range *r;

	ix = index_for(ix, svma);
	*pl = (struct place){ .node = INLINE_OUTERMOST };
	if (!ix)
		return NULL;
	find_unit(ix, svma, pl);
	if (!pl->fn)
		return ix;
	pl->src = source_of(ix, pl->cu);
	if (!pl->fn->walked)
		inline_func_walk(pl->src, pl->fn);
	r = ranges_find(&pl->fn->ranges, svma);
	if (r)
		pl->node = r->id;
	return ix;
}

static bool is_kept(const struct inline_index *ix, uint64_t svma, const char **names, size_t max, size_t *n)
{
	return ix->kept && inline_cache_find(ix->kept, svma, names, max, n);
}

bool inlines_known(const struct inline_index *ix, struct svma addr)
{
	size_t n;

	return is_kept(ix, addr.v, NULL, 0, &n);
}

size_t inlines_lookup(struct inline_index *ix, struct svma addr, const char **names, size_t max)
{
	struct place pl;
	uint32_t node;
	size_t n = 0;

	if (is_kept(ix, addr.v, names, max, &n))
		return n;
	ix = find_place(ix, addr.v, &pl);
	if (ix && !pl.fn)
		u64map_put(&ix->missed, addr.v, NULL);
	for (node = pl.node; node != INLINE_OUTERMOST && n < max; node = pl.fn->nodes[node].parent) {
		const char *name = inline_node_name(pl.src, &pl.fn->nodes[node]);

		/* Without a name (the dwz file is missing) a frame would be useless. */
		if (name)
			names[n++] = name;
	}
	return n;
}

int inlines_symbol(struct inline_index *ix, struct svma addr, struct symbol *out)
{
	const struct range *r;
	struct place pl;

	*out = (struct symbol){ .source = NAME_DWARF };
	if (!find_place(ix, addr.v, &pl) || !pl.fn)
		return -ENOENT;
	r = ranges_find(&pl.cu->ranges, addr.v);
	out->name = inline_func_name(pl.src, pl.fn);
	if (!r || !out->name)
		return -ENOENT;
	out->start = r->start;
	out->end = r->end;
	return 0;
}

size_t inlines_lines(struct inline_index *ix, struct svma addr, struct source_line *out, size_t max)
{
	struct source_line at = { NULL, 0 };
	const struct linetable *lt;
	struct place pl;
	uint64_t file;
	uint32_t node;
	size_t n = 0;

	if (!max)
		return 0;
	ix = find_place(ix, addr.v, &pl);
	if (!pl.cu) {
		out[0] = at;
		return 1;
	}
	lt = inline_cu_lines(&ix->src, pl.cu);
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

bool inlines_source(struct inline_index *ix, struct svma addr, struct strbuf *path, uint32_t *line)
{
	const struct linetable *lt;
	Dwarf_Attribute attr;
	struct place pl;
	Dwarf_Die die;
	uint64_t file;

	ix = find_place(ix, addr.v, &pl);
	if (!pl.cu)
		return false;
	lt = inline_cu_lines(&ix->src, pl.cu);
	if (!linetable_find(lt, addr.v, &file, line))
		return false;
	return linetable_path(lt, file,
			      dwarf_offdie(ix->src.dw, pl.cu->die, &die) &&
					      dwarf_attr(&die, DW_AT_comp_dir, &attr) ?
				      inline_text(&ix->src, &attr) : NULL, path);
}

/* ---- for the next run ---- */

/*
 * Keeps the ranges in which find_unit() returns @fn, function number @id of @cu. Its nodes begin at
 * @base in @ic.
 */
static void keep_ranges(struct inline_index *ix, struct inline_cu *cu, uint32_t id,
			struct inline_cache *ic, uint32_t base)
{
	Dwarf_Off unit = cu->die;

	for (size_t i = 0; i < cu->ranges.n; i++) {
		uint64_t at = cu->ranges.v[i].start, end = cu->ranges.v[i].end;
		const struct inline_func *fn;
		struct place pl = { .cu = NULL };
		uint32_t index;

		if (cu->ranges.v[i].id != id)
			continue;
		/*
		 * Several units may claim the same code; then find_unit() returns another one's
		 * function.
		 */
		find_unit(ix, at, &pl);
		index = cu_index(ix, unit);
		cu = &ix->cus[index];	/* may have moved */
		fn = &cu->funcs[id];
		if (!pl.fn || pl.fn != fn)
			continue;
		for (size_t k = 0; k < fn->ranges.n && at < end; k++) {
			const struct range *r = &fn->ranges.v[k];

			if (r->end <= at || r->start >= end)
				continue;
			if (r->start > at)
				ranges_add(&ic->ranges, at, r->start, INLINE_NOTHING);
			at = MAX(at, r->start);
			ranges_add(&ic->ranges, at, MIN(r->end, end), base + r->id);
			at = MIN(r->end, end);
		}
		ranges_add(&ic->ranges, at, end, INLINE_NOTHING);
	}
}

/* Adds the functions that were looked up in this run to @ic. True if there were any. */
static bool keep_part(struct inline_index *ix, struct inline_cache *ic)
{
	size_t ncus = ix->ncus, it = 0;
	bool any = ix->missed.n > 0;
	uint64_t at, none;

	while (u64map_next(&ix->missed, &it, &at, &none))
		ranges_add(&ic->ranges, at, at + 1, INLINE_NOTHING);
	for (size_t i = 0; i < ncus; i++) {
		for (uint32_t f = 0; f < ix->cus[i].nfuncs; f++) {
			struct inline_func *fn = &ix->cus[i].funcs[f];
			uint32_t base = (uint32_t)ic->nentries;

			if (!fn->walked || ic->nentries + fn->nnodes > CACHE_ENTRIES_MAX)
				continue;
			any = true;
			for (size_t k = 0; k < fn->nnodes; k++) {
				uint32_t up = fn->nodes[k].parent;

				inline_cache_add(ic, inline_node_name(&ix->src, &fn->nodes[k]),
						 up == INLINE_OUTERMOST ? INLINE_NOTHING : base + up);
			}
			keep_ranges(ix, &ix->cus[i], f, ic, base);
		}
	}
	return any;
}

void inlines_keep(struct inline_index *first)
{
	struct inline_index *ix;
	bool any = false;
	size_t size;
	void *data;

	if (!first->from || !first->cache || first->key.unknown)
		return;
	/* .dwo files are not part of the key. One may be missing today and be there another day. */
	for (ix = first; ix; ix = ix->next)
		if (ix->is_split)
			return;
	if (!first->kept)
		first->kept = inline_cache_new();
	for (ix = first; ix; ix = ix->next)
		any |= keep_part(ix, first->kept);
	if (!any)
		return;
	data = inline_cache_format(first->kept, &size);
	cache_write(first->cache, &first->key, CACHE_KIND, CACHE_VERSION, data, size);
	free(data);
}
