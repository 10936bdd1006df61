/* What is wanted of zlib. */
#ifndef NSPROF_CODEC_ZLIB_H
#define NSPROF_CODEC_ZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* CRC-32 of @len more bytes behind those that gave @sum, 0 at the beginning. */
uint32_t zlib_crc32(uint32_t sum, const void *data, size_t len);

/* @len bytes of @data as gzip (RFC 1952) to @to, whose error flag has write errors; the same input gives the same bytes. 0, or -ENOMEM. */
int zlib_gzip(FILE *to, const void *data, size_t len);

/* The first bytes, @room at most, of what the gzip stream that begins with @data, @len bytes, unpacks to. How many; 0: it is damaged. */
size_t zlib_gunzip_head(const void *data, size_t len, void *out, size_t room);

#endif
