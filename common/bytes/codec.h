/*
 * Compression of side-band and payloads. One implementation, zstd (RFC 8878); callers never see
 * its types. Contexts are reused from call to call and belong to one thread at a time.
 */
#ifndef NSPROF_CODEC_H
#define NSPROF_CODEC_H

#include <stddef.h>
#include <stdint.h>

struct codec_enc;
struct codec_dec;

struct codec_enc *codec_enc_new(int level);
/* Frames from now on. */
void codec_enc_level(struct codec_enc *e, int level);
void codec_enc_free(struct codec_enc *e);	/* accepts NULL */
/* Room in bytes that codec_compress() may need for @len bytes. */
size_t codec_bound(size_t len);
/* One frame from @src. Bytes written to @dst, or 0 when they would not fit into @cap or zstd failed. */
size_t codec_compress(struct codec_enc *e, void *dst, size_t cap, const void *src, size_t len);

struct codec_dec *codec_dec_new(void);
void codec_dec_free(struct codec_dec *d);	/* accepts NULL */
/*
 * The frame must give exactly @len bytes. 0, or -EINVAL for a damaged frame. Safe on hostile input.
 */
int codec_decompress(struct codec_dec *d, void *dst, size_t len, const void *src, size_t src_len);

/* One frame, or several in a row, in pieces of any size. */
struct codec_stream;
struct codec_stream *codec_stream_new(void);
void codec_stream_free(struct codec_stream *s);	/* accepts NULL */
/*
 * Decompress from *@src, *@left bytes, as many as fit into @cap bytes at @dst: *@len. *@src and *@left are moved on. When all
 * of @cap was used there may be more to come without any input. 0, or -EINVAL when it is damaged.
 */
int codec_stream(struct codec_stream *s, void *dst, size_t cap, size_t *len, const uint8_t **src, size_t *left);

/* "zstd 1.5.4", for `nsprof version`. */
const char *codec_version(void);

#endif
