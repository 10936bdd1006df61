/*
 * The columns of a STREAM block to its payload and back: which columns are compressed together, and
 * with what they are primed. Both sides keep the last REC_HISTORY bytes of every sample column
 * since the KEY block; a block of half a second is often too short for zstd to learn anything from
 * itself.
 */
#ifndef NSPROF_STREAM_CODEC_H
#define NSPROF_STREAM_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"
#include "strbuf.h"

struct stream_enc;
struct stream_dec;

struct stream_enc *stream_enc_new(int level);
void stream_enc_free(struct stream_enc *e);	/* accepts NULL */
/*
 * Payload for @col (REC_COL_NR of them) appended to @out. @key: history starts anew with this
 * block.
 */
void stream_pack(struct stream_enc *e, bool key, const struct strbuf *col, struct strbuf *out);

struct stream_dec *stream_dec_new(void);
void stream_dec_free(struct stream_dec *d);	/* accepts NULL */
/*
 * @payload: @len bytes; @raw_len: of all columns together, at most REC_BLOCK_MAX. @col gets
 * REC_COL_NR cursors over memory of @d that stays valid until the next call. @samples false: the
 * blocks before were not all read, only columns that depend on none of them are delivered and the
 * others are empty. 0 or -EINVAL.
 */
int stream_unpack(struct stream_dec *d, bool key, bool samples, const void *payload, size_t len,
		  size_t raw_len, struct cursor *col);

#endif
