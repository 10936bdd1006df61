/* Decompression of zlib streams (codec_inflate.h). */
#include "bytes/codec_inflate.h"

#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/xalloc.h"

#define ZLIB_HEADER 2	/* bytes before the deflate data (RFC 1951) */

struct inflate_dec {
	struct inflate_state state;
	bool ended, hungry;
};

/* RFC 1950, 2.2: deflate, no dictionary, and the header's own check. */
static bool is_stream(const uint8_t *in, size_t size)
{
	return size > ZLIB_HEADER && (in[0] & 0x0f) == 8 && !(in[1] & 0x20) && (in[0] << 8 | in[1]) % 31 == 0;
}

struct inflate_dec *inflate_dec_new(const uint8_t *in, size_t size)
{
	struct inflate_dec *d;

	if (size > UINT32_MAX || !is_stream(in, size))
		return NULL;
	d = xmalloc(sizeof(*d));
	isal_inflate_init(&d->state);
	/* ISA-L does not write to it */
	d->state.next_in = (uint8_t *)(uintptr_t)(in + ZLIB_HEADER);
	d->state.avail_in = (uint32_t)(size - ZLIB_HEADER);
	d->ended = d->hungry = false;
	return d;
}

size_t inflate_dec_next(struct inflate_dec *d, uint8_t *out, size_t room)
{
	struct inflate_state *s = &d->state;
	size_t n;

	if (d->ended || d->hungry)
		return 0;
	s->next_out = out;
	s->avail_out = (uint32_t)room;
	d->ended = isal_inflate(s) != ISAL_DECOMP_OK;
	n = room - s->avail_out;
	if (n == room)
		return n;
	d->hungry = !d->ended && !s->avail_in && s->block_state != ISAL_BLOCK_FINISH;
	d->ended = !d->hungry;
	return n;
}

bool inflate_dec_hungry(const struct inflate_dec *d)
{
	return d->hungry;
}

void inflate_dec_feed(struct inflate_dec *d, const uint8_t *in, size_t size)
{
	d->state.next_in = (uint8_t *)(uintptr_t)in;
	d->state.avail_in = (uint32_t)size;
	d->hungry = false;
}

void inflate_dec_free(struct inflate_dec *d)
{
	free(d);
}
