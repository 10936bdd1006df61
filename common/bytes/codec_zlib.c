/* gzip and its checksum (codec_zlib.h). */
#include "bytes/codec_zlib.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/util.h"
#include "base/xalloc.h"

uint32_t zlib_crc32(uint32_t sum, const void *data, size_t len)
{
	return (uint32_t)crc32_z(sum, data, len);
}

/*
 * A window of 15 bits. Adding 16 selects the gzip header. It has no timestamp, so the same input
 * gives the same bytes.
 */
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

size_t zlib_gunzip_head(const void *data, size_t len, void *out, size_t room)
{
	z_stream z = { 0 };

	if (inflateInit2(&z, WINDOW) != Z_OK)
		return 0;
	z.next_in = (unsigned char *)(uintptr_t)data;
	z.avail_in = (unsigned int)MIN(len, (size_t)1 << 30);
	z.next_out = out;
	z.avail_out = (unsigned int)MIN(room, (size_t)1 << 30);
	inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return (size_t)(z.next_out - (unsigned char *)out);
}
