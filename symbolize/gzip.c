/* The only includer of zlib.h in here. */
#include "gzip.h"

#include <errno.h>
#include <zlib.h>

#include "util.h"

/* 15 bits of window, and 16: with gzip's header, which says no time, so that the same input gives the same bytes. */
#define WINDOW (15 + 16)
#define MEMORY 8

int gzip_write(FILE *to, const void *data, size_t len)
{
	unsigned char out[65536];
	const unsigned char *in = data;
	z_stream z = { 0 };
	int ret;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		if (!z.avail_in && len) {
			z.avail_in = (unsigned int)MIN(len, (size_t)1 << 30);
			z.next_in = (unsigned char *)(uintptr_t)in;
			in += z.avail_in;
			len -= z.avail_in;
		}
		z.next_out = out;
		z.avail_out = sizeof(out);
		ret = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		fwrite(out, 1, sizeof(out) - z.avail_out, to);
	} while (ret != Z_STREAM_END && !ferror(to));
	deflateEnd(&z);
	return 0;
}
