/* What is wanted of zlib. */
#ifndef NSPROF_CODEC_ZLIB_H
#define NSPROF_CODEC_ZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* CRC-32 of @len more bytes behind those that gave @sum, 0 at the beginning. */
uint32_t zlib_crc32(uint32_t sum, const void *data, size_t len);

#define ZLIB_HEADER 2	/* bytes before what RFC 1951 describes */
/* Does @in, of @size bytes, begin as a zlib stream without a dictionary (RFC 1950, 2.2)? */
bool zlib_is_stream(const uint8_t *in, size_t size);

/* The bytes of a zlib stream, some at a time. */
struct zlib_dec;

/* @in is borrowed. NULL: it is no such stream, or larger than 4 GiB. */
struct zlib_dec *zlib_dec_new(const uint8_t *in, size_t size);
/*
 * The next bytes, @room at most (below 4 GiB), to @out; how many, 0 at the end and where it is damaged. The checksum
 * at the end is not looked at: who stops before it cannot.
 */
size_t zlib_dec_next(struct zlib_dec *d, uint8_t *out, size_t room);
void zlib_dec_free(struct zlib_dec *d);	/* accepts NULL */

/* @len bytes of @data as gzip (RFC 1952) to @to, whose error flag has write errors; the same input gives the same bytes. 0, or -ENOMEM. */
int zlib_gzip(FILE *to, const void *data, size_t len);

#endif
