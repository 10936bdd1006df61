/* Cuts names (longname.h). */
#include "base/longname.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/util.h"

#define MARK_MAX 64	/* bytes of the mark, with any length */
#define ESCAPE_MAX 10	/* bytes of "\\u{10ffff}" (escape.h) */

uint64_t longname_hash(uint64_t hash, const char *piece, size_t len)
{
	return hash_combine(hash, hash_bytes(piece, len));
}

/* The most bytes of @name, at most @keep of @have, that cut no UTF-8 character and no escape in two. */
static size_t whole_part(const char *name, size_t have, size_t keep)
{
	/* Bytes 10xxxxxx continue a character. */
	while (keep && keep < have && ((unsigned char)name[keep] & 0xc0) == 0x80)
		keep--;
	for (size_t i = 1; i < ESCAPE_MAX && i <= keep && name[keep - i] != '}'; i++)
		if (name[keep - i] == '\\')
			return keep - i;
	return keep;
}

void longname_add_part(struct strbuf *out, const char *name, size_t have, uint64_t len, uint64_t hash, size_t max)
{
	strbuf_add(out, name, whole_part(name, have, MIN(have, max - MARK_MAX)));
	strbuf_addf(out, "...[%" PRIu64 " bytes, %016" PRIx64 "]", len, hash);
}

void longname_add(struct strbuf *out, const char *name, size_t len, size_t max)
{
	uint64_t hash = 0;

	if (len <= max) {
		strbuf_add(out, name, len);
		return;
	}
	for (size_t at = 0; at < len; at += LONGNAME_PIECE)
		hash = longname_hash(hash, name + at, MIN(len - at, LONGNAME_PIECE));
	longname_add_part(out, name, len, len, hash, max);
}
