/*
 * Packs the columns of a STREAM block into its payload and back: ORDER and EVENTS by zstd, and
 * switches by switch_codec.h, each block on its own; the symbols of the samples by nibble_codec.h,
 * whose models continue from block to block.
 */
#ifndef NSPROF_STREAM_CODEC_H
#define NSPROF_STREAM_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "recording.h"
#include "samples/switch_codec.h"

struct stream_enc;
struct stream_dec;

/* How much effort goes into a block. Readers see no difference. */
enum stream_effort {
	STREAM_BEST,		/* the level given to stream_enc_new() */
	STREAM_FAST,		/* zstd level 1 for side-band events; samples cost the same */
	STREAM_STORED,		/* no compression */
};

struct stream_enc *stream_enc_new(int level);
void stream_enc_free(struct stream_enc *e);	/* accepts NULL */
/*
 * Append the payload for @col (REC_COL_NR of them) to @out. @key: models are reset with this block.
 * @marks: no sample is coded with MARKS_NONE. Returns its raw length.
 */
size_t stream_pack(struct stream_enc *e, enum stream_effort effort, bool key, bool marks,
		   const struct strbuf *col, struct strbuf *out);

/* The parts of a payload, borrowed from it or from @raw. */
struct stream_parts {
	struct cursor order, events;
	struct cursor code;		/* of the samples, still packed */
	uint64_t symbols;		/* in code */
	struct switch_block switches;	/* the same for them; no symbols: there are none */
	bool plain;			/* see nibble_plain() */
	bool marks;			/* samples may have marks among the switches */
	uint8_t *raw;			/* owned; unpacked bytes */
	size_t cap;
};

/* @events: for REC_VERSION, else REC_VERSION_PLAIN. */
struct stream_dec *stream_dec_new(bool events);
void stream_dec_free(struct stream_dec *d);	/* accepts NULL */
/*
 * @payload: @len bytes; @raw_len: as in the block header, at most REC_BLOCK_MAX. *@parts: zeroed,
 * or from an earlier call. 0 or -EINVAL.
 */
int stream_unpack(struct stream_dec *d, const void *payload, size_t len, size_t raw_len,
		  struct stream_parts *parts);
void stream_parts_fini(struct stream_parts *parts);

#endif
