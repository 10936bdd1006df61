/*
 * The columns of a STREAM block to its payload and back: ORDER and EVENTS by zstd, each block for
 * itself, and the symbols of the samples by nibble_codec.h, whose models go on from block to block.
 */
#ifndef NSPROF_STREAM_CODEC_H
#define NSPROF_STREAM_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "recording.h"

struct stream_enc;
struct stream_dec;

/* What may be spent on a block. The reader sees no difference. */
enum stream_effort {
	STREAM_BEST,		/* the level given to stream_enc_new() */
	STREAM_FAST,		/* zstd's level 1; that is for side-band, samples cost as much */
	STREAM_STORED,		/* nothing is compressed */
};

struct stream_enc *stream_enc_new(int level);
void stream_enc_free(struct stream_enc *e);	/* accepts NULL */
/*
 * Payload for @col (REC_COL_NR of them) appended to @out. @key: models start anew with this block.
 */
void stream_pack(struct stream_enc *e, enum stream_effort effort, bool key, const struct strbuf *col,
		 struct strbuf *out);

/* A payload's parts, borrowed from it or from @raw. */
struct stream_parts {
	struct cursor order, events;
	struct cursor code;		/* of the samples, still packed */
	uint64_t symbols;		/* in code */
	bool plain;			/* see nibble_plain() */
	uint8_t *raw;			/* owned; what was unpacked */
	size_t cap;
};

struct stream_dec *stream_dec_new(void);
void stream_dec_free(struct stream_dec *d);	/* accepts NULL */
/*
 * @payload: @len bytes; @raw_len: as in the block header, at most REC_BLOCK_MAX. *@parts: zeroed, or of a call before.
 * 0 or -EINVAL.
 */
int stream_unpack(struct stream_dec *d, const void *payload, size_t len, size_t raw_len,
		  struct stream_parts *parts);
void stream_parts_fini(struct stream_parts *parts);

#endif
