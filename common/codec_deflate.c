/* zlib streams as wholes (codec_deflate.h). */
#include "codec_deflate.h"

#include <errno.h>
#include <libdeflate.h>

#include "codec_zlib.h"

int deflate_unpack(uint8_t *out, size_t size, const uint8_t *in, size_t in_size)
{
	struct libdeflate_decompressor *d;
	enum libdeflate_result ret;

	if (!zlib_is_stream(in, in_size))
		return -EINVAL;
	d = libdeflate_alloc_decompressor();
	if (!d)
		return -EINVAL;
	ret = libdeflate_deflate_decompress(d, in + ZLIB_HEADER, in_size - ZLIB_HEADER, out, size, NULL);
	libdeflate_free_decompressor(d);
	return ret == LIBDEFLATE_SUCCESS ? 0 : -EINVAL;
}
