/*
 * The on-disk format of inlined functions (inline_cache.h). Little endian, without padding:
 *	u32 number of ranges, of entries, bytes of names
 *	for each range: u64 start, u64 end, u32 entry
 *	for each entry: u32 byte offset of its name, u32 parent
 *	the names, each ended by a NUL; the name at offset 0 is empty
 */
#include "debuginfo/inline_cache.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"

#define HEAD_SIZE	12
#define RANGE_SIZE	20
#define ENTRY_SIZE	8

struct inline_cache *inline_cache_new(void)
{
	struct inline_cache *ic = xcalloc(1, sizeof(*ic));

	ic->names = intern_new();
	return ic;
}

void inline_cache_free(struct inline_cache *ic)
{
	if (!ic)
		return;
	ranges_fini(&ic->ranges);
	free(ic->entries);
	intern_free(ic->names);
	free(ic);
}

uint32_t inline_cache_add(struct inline_cache *ic, const char *name, uint32_t parent)
{
	XGROW(ic->entries, ic->nentries, ic->cap);
	ic->entries[ic->nentries] = (struct inline_entry){
		.name = name ? intern_add(ic->names, name) : 0, .parent = parent,
	};
	return (uint32_t)ic->nentries++;
}

bool inline_cache_find(const struct inline_cache *ic, uint64_t svma, const char **names, size_t max,
		       size_t *n)
{
	const struct range *r = ranges_find(&ic->ranges, svma);

	*n = 0;
	if (!r)
		return false;
	for (uint32_t e = r->id; e != INLINE_NOTHING && *n < max; e = ic->entries[e].parent)
		if (ic->entries[e].name)
			names[(*n)++] = intern_str(ic->names, ic->entries[e].name);
	return true;
}

/* ---- bytes ---- */

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static bool parse_ranges(struct inline_cache *ic, const uint8_t *p, size_t n, size_t nentries)
{
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++, p += RANGE_SIZE) {
		uint64_t start = get_u64(p), end = get_u64(p + 8);
		uint32_t id = get_u32(p + 16);

		if (start < last || start >= end || (id != INLINE_NOTHING && id >= nentries))
			return false;
		ranges_add(&ic->ranges, start, end, id);
		last = end;
	}
	return true;
}

static bool parse_entries(struct inline_cache *ic, const uint8_t *p, size_t n, const char *text,
			  size_t text_size)
{
	for (size_t i = 0; i < n; i++, p += ENTRY_SIZE) {
		uint32_t name = get_u32(p), parent = get_u32(p + 4);

		/* Parents come first, so no chain is endless. */
		if (name >= text_size || (parent != INLINE_NOTHING && parent >= i))
			return false;
		inline_cache_add(ic, text + name, parent);
	}
	return true;
}

struct inline_cache *inline_cache_parse(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t nranges, nentries, text;
	struct inline_cache *ic;

	if (size < HEAD_SIZE)
		return NULL;
	nranges = get_u32(p);
	nentries = get_u32(p + 4);
	text = get_u32(p + 8);
	if (HEAD_SIZE + nranges * RANGE_SIZE + nentries * ENTRY_SIZE + text != size || !text ||
	    p[size - 1] || p[size - text])
		return NULL;
	ic = inline_cache_new();
	p += HEAD_SIZE;
	if (!parse_ranges(ic, p, nranges, nentries) ||
	    !parse_entries(ic, p + nranges * RANGE_SIZE, nentries,
			   (const char *)p + nranges * RANGE_SIZE + nentries * ENTRY_SIZE, text)) {
		inline_cache_free(ic);
		return NULL;
	}
	return ic;
}

void *inline_cache_format(struct inline_cache *ic, size_t *size)
{
	uint32_t nnames = intern_count(ic->names), *offs = xcalloc(nnames + 1, sizeof(*offs));
	struct strbuf out = STRBUF_INIT;
	uint32_t text = 0;

	ranges_flatten(&ic->ranges);
	for (uint32_t i = 0; i < nnames; i++) {
		offs[i] = text;
		text += (uint32_t)intern_len(ic->names, i) + 1;
	}
	strbuf_add_u32(&out, (uint32_t)ic->ranges.n);
	strbuf_add_u32(&out, (uint32_t)ic->nentries);
	strbuf_add_u32(&out, text);
	for (size_t i = 0; i < ic->ranges.n; i++) {
		strbuf_add_u64(&out, ic->ranges.v[i].start);
		strbuf_add_u64(&out, ic->ranges.v[i].end);
		strbuf_add_u32(&out, ic->ranges.v[i].id);
	}
	for (size_t i = 0; i < ic->nentries; i++) {
		strbuf_add_u32(&out, offs[ic->entries[i].name]);
		strbuf_add_u32(&out, ic->entries[i].parent);
	}
	for (uint32_t i = 0; i < nnames; i++)
		strbuf_add(&out, intern_str(ic->names, i), intern_len(ic->names, i) + 1);
	free(offs);
	*size = out.len;
	return out.s;
}
