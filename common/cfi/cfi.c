/*
 * Finding the FDE of an address. .eh_frame_hdr has a sorted table made by the linker (LSB 5.0 Core,
 * 10.6.2), which is used in place if it is sound. Static musl and glibc programs, .debug_frame and
 * damaged files get our own index, from one pass over the section.
 *
 * Not thread-safe: lookups fill the index and the CIE cache.
 */
#include "cfi/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "cfi/cfi_priv.h"

/* ---- the linker's table ---- */

#define PAIRS_PER_BUCKET 4

static int32_t table_word(const struct cfi *cfi, size_t pair, size_t which)
{
	int32_t v;

	memcpy(&v, cfi->table + pair * 8 + which * 4, 4);
	return v;
}

static uint64_t table_svma(const struct cfi *cfi, size_t pair, size_t which)
{
	uint64_t v = cfi->secs.eh_frame_hdr.svma + (uint64_t)(int64_t)table_word(cfi, pair, which);

	return cfi->secs.is64 ? v : v & 0xffffffff;
}

/*
 * Buckets of pairs by start address, so that a lookup searches only a few pairs. Programs have
 * 50,000 of them, and each one read is a cache miss.
 */
static void begin_buckets(struct cfi *cfi)
{
	uint64_t span = table_svma(cfi, cfi->ntable - 1, 0) - table_svma(cfi, 0, 0);

	while (span >> cfi->shift > MAX(cfi->ntable / PAIRS_PER_BUCKET, (size_t)1))
		cfi->shift++;
	cfi->nbuckets = (size_t)(span >> cfi->shift) + 1;
	cfi->bucket = xmalloc((cfi->nbuckets + 1) * sizeof(*cfi->bucket));
}

/*
 * The bucket of @svma, which must not be below the first pair's start. The last bucket has
 * everything behind it.
 */
static size_t bucket_of(const struct cfi *cfi, uint64_t svma)
{
	return (size_t)MIN((svma - table_svma(cfi, 0, 0)) >> cfi->shift, cfi->nbuckets - 1);
}

/*
 * Accepts the form that linkers write: version 1, udata4 count, table of datarel sdata4. Otherwise
 * there is no table.
 */
static void check_table(struct cfi *cfi)
{
	const struct cfi_section *hdr = &cfi->secs.eh_frame_hdr;
	uint64_t ptr, count, prev = 0;
	struct cursor c;
	size_t filled = 0;

	if (!hdr->data || hdr->size < 4 || hdr->data[0] != 1 || hdr->data[2] != DW_EH_PE_udata4 ||
	    hdr->data[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return;
	cursor_init(&c, hdr->data, hdr->size);
	c.pos = 4;
	if (cfi_pointer(cfi, &c, hdr->data[1], cfi->secs.is64 ? 8 : 4, hdr->svma, &ptr) ||
	    ptr != cfi->secs.eh_frame.svma)
		return;
	count = cursor_u32(&c);
	if (!cursor_ok(&c) || !count || count > cursor_left(&c) / 8)
		return;
	cfi->table = hdr->data + c.pos;
	cfi->ntable = count;
	begin_buckets(cfi);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = table_svma(cfi, i, 0);
		uint64_t off = table_svma(cfi, i, 1) - cfi->secs.eh_frame.svma;

		if (start < prev || off >= cfi->secs.eh_frame.size) {
			cfi->table = NULL;
			return;
		}
		prev = start;
		while (filled <= bucket_of(cfi, start))
			cfi->bucket[filled++] = (uint32_t)i;
	}
	/* The last pair is in the last bucket. */
	cfi->bucket[filled] = (uint32_t)count;
}

/*
 * 0, -ENOENT (no FDE covers @svma), or -EINVAL: the table leads to something else than the FDE it
 * promised, so none of it can be trusted.
 */
static int find_in_table(struct cfi *cfi, uint64_t svma, struct cfi_fde *fde)
{
	struct cfi_entry e;
	size_t first, above;

	if (svma < table_svma(cfi, 0, 0))
		return -ENOENT;
	first = cfi->bucket[bucket_of(cfi, svma)];
	above = first + BISECT(cfi->bucket[bucket_of(cfi, svma) + 1] - first, i, table_svma(cfi, first + i, 0) <= svma);
	if (cfi_fde_at(cfi, false, table_svma(cfi, above - 1, 1) - cfi->secs.eh_frame.svma, &e) ||
	    e.fde.start != table_svma(cfi, above - 1, 0))
		return -EINVAL;
	if (svma >= e.fde.end)
		return -ENOENT;
	*fde = e.fde;
	return 0;
}

/* ---- our own index ---- */

static int fde_cmp(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

static void index_add(struct cfi_index *ix, const struct cfi_fde *fde)
{
	XGROW(ix->v, ix->n, ix->cap);
	ix->v[ix->n++] = *fde;
}

static void index_sort(struct cfi_index *ix)
{
	size_t n = 0;
	bool sorted = true;

	for (size_t i = 1; i < ix->n && sorted; i++)
		sorted = fde_cmp(&ix->v[i - 1], &ix->v[i]) < 0;
	if (!sorted)
		qsort(ix->v, ix->n, sizeof(*ix->v), fde_cmp);
	/*
	 * If several FDEs have the same start (folded functions in .debug_frame), the first in the
	 * section is kept.
	 */
	for (size_t i = 0; i < ix->n; i++) {
		if (!n || ix->v[i].start != ix->v[n - 1].start)
			ix->v[n++] = ix->v[i];
	}
	ix->n = n;
}

/* A damaged FDE is skipped. After a damaged length nothing more can be found. */
static void index_build(struct cfi *cfi, bool debug_frame, struct cfi_index *ix)
{
	struct cfi_record rec;
	struct cfi_entry e;

	if (ix->built)
		return;
	ix->built = true;
	for (uint64_t off = 0; !cfi_record_at(cfi, debug_frame, off, &rec); off = rec.next) {
		/* ld -r and objects without crtend.o leave zero lengths in the middle: continue. */
		if (rec.terminator || rec.is_cie || cfi_fde_at(cfi, debug_frame, off, &e))
			continue;
		index_add(ix, &e.fde);
	}
	index_sort(ix);
}

static int index_find(const struct cfi_index *ix, uint64_t svma, struct cfi_fde *fde)
{
	size_t above = BISECT(ix->n, i, ix->v[i].start <= svma);

	if (!above || svma >= ix->v[above - 1].end)
		return -ENOENT;
	*fde = ix->v[above - 1];
	return 0;
}

static bool section_has_fde(struct cfi *cfi, bool debug_frame)
{
	struct cfi_record rec;
	struct cfi_entry e;

	for (uint64_t off = 0; !cfi_record_at(cfi, debug_frame, off, &rec); off = rec.next) {
		if (!rec.terminator && !rec.is_cie && !cfi_fde_at(cfi, debug_frame, off, &e))
			return true;
	}
	return false;
}

/* ---- the contract of cfi.h ---- */

struct cfi *cfi_new(const struct cfi_sections *secs)
{
	struct cfi *cfi = xcalloc(1, sizeof(*cfi));

	cfi->secs = *secs;
	if (cfi->secs.eh_frame.data)
		check_table(cfi);
	cfi->empty = !cfi->table && !section_has_fde(cfi, false) && !section_has_fde(cfi, true);
	return cfi;
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->eh.v);
	free(cfi->df.v);
	free(cfi->all.v);
	free(cfi->bucket);
	free(cfi);
}

bool cfi_empty(const struct cfi *cfi)
{
	return cfi->empty;
}

int cfi_find(struct cfi *cfi, uint64_t svma, struct cfi_fde *fde)
{
	int err = -EINVAL;

	if (cfi->empty)
		return -ENOENT;
	if (cfi->table) {
		err = find_in_table(cfi, svma, fde);
		if (err == -EINVAL)
			cfi->table = NULL;
	}
	if (err == -EINVAL) {
		index_build(cfi, false, &cfi->eh);
		err = index_find(&cfi->eh, svma, fde);
	}
	if (err == -ENOENT && cfi->secs.debug_frame.data) {
		index_build(cfi, true, &cfi->df);
		err = index_find(&cfi->df, svma, fde);
	}
	return err;
}

int cfi_nth(struct cfi *cfi, size_t i, struct cfi_fde *fde)
{
	struct cfi_fde other;

	if (!cfi->all.built) {
		index_build(cfi, false, &cfi->eh);
		index_build(cfi, true, &cfi->df);
		for (size_t k = 0; k < cfi->eh.n; k++)
			index_add(&cfi->all, &cfi->eh.v[k]);
		/* .debug_frame is never used for functions that .eh_frame covers. */
		for (size_t k = 0; k < cfi->df.n; k++) {
			if (index_find(&cfi->eh, cfi->df.v[k].start, &other))
				index_add(&cfi->all, &cfi->df.v[k]);
		}
		index_sort(&cfi->all);
		cfi->all.built = true;
	}
	if (i >= cfi->all.n)
		return -ENOENT;
	*fde = cfi->all.v[i];
	return 0;
}
