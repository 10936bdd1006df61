/* gzip and CRC-32, by zlib. */
#ifndef NSPROF_CODEC_ZLIB_H
#define NSPROF_CODEC_ZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Extends the CRC-32 @sum (0 at the beginning) by @len more bytes. */
uint32_t zlib_crc32(uint32_t sum, const void *data, size_t len);

/*
 * Writes @len bytes of @data as gzip (RFC 1952) to @to. The same input gives the same bytes. 0, or
 * -ENOMEM. The caller checks the error flag of @to for write errors.
 */
int zlib_gzip(FILE *to, const void *data, size_t len);

/*
 * Decompresses the beginning of a gzip stream, of which @data holds the first @len bytes: at most
 * @room bytes to @out. Returns their number; 0: the stream is damaged.
 */
size_t zlib_gunzip_head(const void *data, size_t len, void *out, size_t room);

#endif
