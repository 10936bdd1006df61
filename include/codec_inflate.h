/* Unpacking of zlib streams: what is wanted of ISA-L. */
#ifndef NSPROF_CODEC_INFLATE_H
#define NSPROF_CODEC_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a zlib stream (RFC 1950 and 1951), some at a time. */
struct inflate_dec;

/* @in, of @size bytes, is borrowed. NULL: it is no such stream, wants a dictionary, or is larger than 4 GiB. */
struct inflate_dec *inflate_dec_new(const uint8_t *in, size_t size);
/*
 * The next bytes, @room at most (below 4 GiB), to @out; how many, 0 at the end and where it is damaged. Safe on hostile input,
 * nothing behind @room is written to. The checksum at the end is not looked at: who stops before it cannot.
 */
size_t inflate_dec_next(struct inflate_dec *d, uint8_t *out, size_t room);
void inflate_dec_free(struct inflate_dec *d);	/* accepts NULL */

#endif
