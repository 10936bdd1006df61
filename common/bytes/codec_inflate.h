/* Unpacking of zlib streams: what is wanted of ISA-L. */
#ifndef NSPROF_CODEC_INFLATE_H
#define NSPROF_CODEC_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a zlib stream (RFC 1950 and 1951), some at a time, of which some are given at a time. */
struct inflate_dec;

/*
 * @in: the first @size bytes (below 4 GiB) of the stream; borrowed until inflate_dec_feed(). NULL: it is no such stream, wants a
 * dictionary, or its header is all that is given.
 */
struct inflate_dec *inflate_dec_new(const uint8_t *in, size_t size);
/*
 * The next bytes, @room at most (below 4 GiB), to @out. How many: fewer than @room where the stream ends or is damaged, and where
 * what was given is used up. Safe on hostile input, nothing behind @room is written to. The checksum at the end is not looked
 * at: who stops before it cannot.
 */
size_t inflate_dec_next(struct inflate_dec *d, uint8_t *out, size_t room);
/* Were there fewer because what was given is used up? */
bool inflate_dec_hungry(const struct inflate_dec *d);
/* What stands behind what was given and is used up, @size bytes (below 4 GiB); borrowed until the next call. */
void inflate_dec_feed(struct inflate_dec *d, const uint8_t *in, size_t size);
void inflate_dec_free(struct inflate_dec *d);	/* accepts NULL */

#endif
