/* Decompression of zlib streams, by ISA-L. */
#ifndef NSPROF_CODEC_INFLATE_H
#define NSPROF_CODEC_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decompresses a zlib stream (RFC 1950 and 1951) piece by piece. The input may also come in pieces.
 */
struct inflate_dec;

/*
 * @in: the first @size bytes (below 4 GiB) of the stream; borrowed until inflate_dec_feed(). NULL:
 * it is not such a stream, needs a dictionary, or contains no more than the header.
 */
struct inflate_dec *inflate_dec_new(const uint8_t *in, size_t size);
/*
 * Writes the next bytes, at most @room (below 4 GiB), to @out and returns their number. It is less
 * than @room when the stream ends, is damaged, or needs more input. Safe on hostile input: never
 * writes behind @room. The checksum at the end is not checked, because callers that stop earlier
 * cannot check it.
 */
size_t inflate_dec_next(struct inflate_dec *d, uint8_t *out, size_t room);
/* Did the last call return fewer bytes because the input is used up? */
bool inflate_dec_hungry(const struct inflate_dec *d);
/*
 * The input that follows what is used up, @size bytes (below 4 GiB); borrowed until the next call.
 */
void inflate_dec_feed(struct inflate_dec *d, const uint8_t *in, size_t size);
void inflate_dec_free(struct inflate_dec *d);	/* accepts NULL */

#endif
