/* Whole zlib streams, fast: what is wanted of libdeflate. */
#ifndef NSPROF_CODEC_DEFLATE_H
#define NSPROF_CODEC_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The zlib stream @in (RFC 1950), which must give exactly @size bytes, to @out. 0, or -EINVAL when it is damaged, is none,
 * or is of another size; then any of @out may have been written to. Safe on hostile input. The checksum at the end is not looked at,
 * as in zlib_dec_next() (codec_zlib.h), which has the bytes before the damage as well.
 */
int deflate_unpack(uint8_t *out, size_t size, const uint8_t *in, size_t in_size);

#endif
