/* A bounds-checked reader over untrusted bytes. */
#include "base/cursor.h"

#include <string.h>

void cursor_init(struct cursor *c, const void *data, size_t size)
{
	c->base = data;
	c->size = data ? size : 0;
	c->pos = 0;
	c->bad = false;
}

void cursor_skip(struct cursor *c, size_t len)
{
	if (len > cursor_left(c))
		c->bad = true;
	else
		c->pos += len;
}

/*
 * A 64-bit value takes at most 10 bytes of 7 bits each, and the last one may only hold one bit.
 * Anything longer or wider is damage and is not cut to fit.
 */
uint64_t cursor_varint(struct cursor *c)
{
	unsigned int shift;
	uint64_t v = 0;

	for (shift = 0; shift < 70; shift += 7) {
		uint8_t b = cursor_u8(c);

		if (c->bad || (shift == 63 && b > 1))
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* Zigzag, as written by strbuf_add_svarint(). */
int64_t cursor_svarint(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

const char *cursor_cstr(struct cursor *c)
{
	const uint8_t *start, *nul = NULL;
	size_t left = cursor_left(c);

	if (left) {
		start = c->base + c->pos;
		nul = memchr(start, '\0', left);
	}
	if (!nul) {
		c->bad = true;
		return NULL;
	}
	return cursor_bytes(c, (size_t)(nul - start) + 1);
}
