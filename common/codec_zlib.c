/* zlib streams (RFC 1950, 1951) and its checksum (codec_zlib.h). */
#include "codec_zlib.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "util.h"
#include "xalloc.h"

struct zlib_dec {
	z_stream z;
};

uint32_t zlib_crc32(uint32_t sum, const void *data, size_t len)
{
	return (uint32_t)crc32_z(sum, data, len);
}

bool zlib_is_stream(const uint8_t *in, size_t size)
{
	return size > ZLIB_HEADER && (in[0] & 0x0f) == 8 && !(in[1] & 0x20) &&
	       (in[0] << 8 | in[1]) % 31 == 0;
}

struct zlib_dec *zlib_dec_new(const uint8_t *in, size_t size)
{
	struct zlib_dec *d;

	if (size > UINT32_MAX || !zlib_is_stream(in, size))
		return NULL;
	d = xcalloc(1, sizeof(*d));
	d->z.next_in = (Bytef *)(uintptr_t)(in + ZLIB_HEADER);	/* which zlib does not write to */
	d->z.avail_in = (uInt)(size - ZLIB_HEADER);
	if (inflateInit2(&d->z, -MAX_WBITS) != Z_OK) {
		free(d);
		return NULL;
	}
	return d;
}

size_t zlib_dec_next(struct zlib_dec *d, uint8_t *out, size_t room)
{
	int ret;

	d->z.next_out = out;
	d->z.avail_out = (uInt)room;
	ret = inflate(&d->z, Z_NO_FLUSH);
	return ret == Z_OK || ret == Z_STREAM_END ? room - d->z.avail_out : 0;
}

void zlib_dec_free(struct zlib_dec *d)
{
	if (!d)
		return;
	inflateEnd(&d->z);
	free(d);
}

/* 15 bits of window, and 16: with gzip's header, which says no time, so that the same input gives the same bytes. */
#define WINDOW (15 + 16)
#define MEMORY 8
#define ROOM 65536u	/* bytes written at once */

int zlib_gzip(FILE *to, const void *data, size_t len)
{
	const unsigned char *in = data;
	unsigned char *out;
	z_stream z = { 0 };
	int ret;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	out = xmalloc(ROOM);
	do {
		if (!z.avail_in && len) {
			z.avail_in = (unsigned int)MIN(len, (size_t)1 << 30);
			z.next_in = (unsigned char *)(uintptr_t)in;
			in += z.avail_in;
			len -= z.avail_in;
		}
		z.next_out = out;
		z.avail_out = ROOM;
		ret = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		fwrite(out, 1, ROOM - z.avail_out, to);
	} while (ret != Z_STREAM_END && !ferror(to));
	deflateEnd(&z);
	free(out);
	return 0;
}
