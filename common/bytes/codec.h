/*
 * Compression of side-band and payloads. There is one implementation, zstd (RFC 8878); callers
 * never see its types. Contexts are reused from call to call and belong to one thread at a time.
 */
#ifndef NSPROF_CODEC_H
#define NSPROF_CODEC_H

#include <stddef.h>
#include <stdint.h>

struct codec_enc;
struct codec_dec;

struct codec_enc *codec_enc_new(int level);
/* Applies to frames from now on. */
void codec_enc_level(struct codec_enc *e, int level);
void codec_enc_free(struct codec_enc *e);	/* accepts NULL */
/* The space in bytes that codec_compress() may need for @len bytes. */
size_t codec_bound(size_t len);
/*
 * Compresses @src into one frame. Returns the bytes written to @dst, or 0 if they do not fit into
 * @cap or zstd failed.
 */
size_t codec_compress(struct codec_enc *e, void *dst, size_t cap, const void *src, size_t len);

struct codec_dec *codec_dec_new(void);
void codec_dec_free(struct codec_dec *d);	/* accepts NULL */
/*
 * The frame must decompress to exactly @len bytes. 0, or -EINVAL for a damaged frame. Safe on
 * hostile input.
 */
int codec_decompress(struct codec_dec *d, void *dst, size_t len, const void *src, size_t src_len);

/* Decompresses one frame, or several in a row, in pieces of any size. */
struct codec_stream;
struct codec_stream *codec_stream_new(void);
void codec_stream_free(struct codec_stream *s);	/* accepts NULL */
/*
 * Decompresses from *@src (*@left bytes) up to @cap bytes to @dst and sets *@len to their number.
 * Advances *@src and *@left. If it used all of @cap, more output may follow without further input.
 * 0, or -EINVAL if the input is damaged.
 */
int codec_stream(struct codec_stream *s, void *dst, size_t cap, size_t *len, const uint8_t **src, size_t *left);

/* "zstd 1.5.4", for `nsprof version`. */
const char *codec_version(void);

#endif
