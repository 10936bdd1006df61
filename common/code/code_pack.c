/* Captured code: numbers first, then the bytes of all ranges together, which compress better. */
#include "code/code_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/util.h"
#include "base/xalloc.h"

struct code_pack {
	struct code_counts counts;
	struct code_range *ranges;	/* owned */
	size_t *at;			/* owned; offset of each range in bytes */
	size_t n;
	uint8_t *bytes;			/* owned */
};

void code_pack_write(const struct code_range *ranges, size_t n, const void *bytes,
		     const struct code_counts *counts, struct strbuf *out)
{
	uint64_t end = 0;
	size_t all = 0;

	strbuf_add_varint(out, counts->samples);
	strbuf_add_varint(out, counts->missed);
	strbuf_add_varint(out, counts->missed_functions);
	strbuf_add_varint(out, n);
	for (size_t i = 0; i < n; i++) {
		strbuf_add_varint(out, ranges[i].svma - end);
		strbuf_add_varint(out, ranges[i].len);
		end = ranges[i].svma + ranges[i].len;
		all += ranges[i].len;
	}
	strbuf_add(out, bytes, all);
}

/* False if ranges overlap, wrap around, or need more bytes than there are. */
static bool read_ranges(struct code_pack *cp, struct cursor *c)
{
	uint64_t end = 0;
	size_t all = 0;

	for (size_t i = 0; i < cp->n; i++) {
		const uint64_t gap = cursor_varint(c), len = cursor_varint(c);

		if (!cursor_ok(c) || gap > UINT64_MAX - end || !len || len > UINT64_MAX - end - gap ||
		    len > c->size - all)
			return false;
		cp->ranges[i] = (struct code_range){ end + gap, len };
		cp->at[i] = all;
		end += gap + len;
		all += len;
	}
	return cursor_left(c) == all;
}

struct code_pack *code_pack_read(const void *data, size_t size)
{
	struct code_pack *cp = xcalloc(1, sizeof(*cp));
	struct cursor c;
	uint64_t n;

	cursor_init(&c, data, size);
	cp->counts.samples = cursor_varint(&c);
	cp->counts.missed = cursor_varint(&c);
	cp->counts.missed_functions = cursor_varint(&c);
	n = cursor_varint(&c);
	/* Each range takes at least two numbers and a byte. */
	if (!cursor_ok(&c) || n > cursor_left(&c) / 3 || cp->counts.missed > cp->counts.samples)
		goto damaged;
	cp->n = n;
	cp->ranges = xcalloc(n + 1, sizeof(*cp->ranges));
	cp->at = xcalloc(n + 1, sizeof(*cp->at));
	if (!read_ranges(cp, &c))
		goto damaged;
	cp->bytes = xmalloc(cursor_left(&c) + 1);
	memcpy(cp->bytes, c.base + c.pos, cursor_left(&c));
	return cp;
damaged:
	code_pack_free(cp);
	return NULL;
}

void code_pack_free(struct code_pack *cp)
{
	if (!cp)
		return;
	free(cp->ranges);
	free(cp->at);
	free(cp->bytes);
	free(cp);
}

size_t code_pack_ranges(const struct code_pack *cp, const struct code_range **ranges)
{
	*ranges = cp->ranges;
	return cp->n;
}

const struct code_counts *code_pack_counts(const struct code_pack *cp)
{
	return &cp->counts;
}

size_t code_pack_find(const struct code_pack *cp, uint64_t svma, const uint8_t **bytes)
{
	const struct code_range *r = cp->ranges;
	const size_t i = BISECT(cp->n, k, r[k].svma + r[k].len <= svma);
	uint64_t off;

	if (i == cp->n || svma < r[i].svma)
		return 0;
	off = svma - r[i].svma;
	*bytes = cp->bytes + cp->at[i] + off;
	return r[i].len - off;
}
