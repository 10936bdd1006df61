/*
 * Payload of a STREAM block: varint number of frames; for each frame u8 method, varint number of
 * columns, for each of these u8 column and varint raw bytes, then varint stored bytes; then the
 * frames' bytes in the same order. A column that is not named is empty.
 */
#include "stream_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "recording.h"
#include "util.h"
#include "xalloc.h"

#define COLUMN_LARGE 512u /* from here on a column gets a frame, so entropy tables, of its own */
#define FRAME_SMALL 48u		/* below, a zstd header costs more than it saves */

struct history {
	uint32_t len;
	uint8_t b[REC_HISTORY];
};

struct frame {
	uint8_t method;
	uint8_t col[REC_COL_NR];
	uint32_t ncols;
	size_t len[REC_COL_NR];		/* raw bytes of each of col[] */
	size_t raw, stored;		/* bytes, of all together */
};

struct stream_enc {
	struct codec_enc *codec;
	struct history hist[REC_COL_NR];
	uint8_t prefix[REC_COL_NR * REC_HISTORY];
	struct strbuf raw;		/* columns of the frame in work */
	struct strbuf body;		/* finished frames */
	char *tmp;			/* owned; where zstd writes */
	size_t cap;
};

struct stream_dec {
	struct codec_dec *codec;
	struct history hist[REC_COL_NR];
	uint8_t prefix[REC_COL_NR * REC_HISTORY];
	uint8_t *raw;			/* owned */
	size_t cap;
};

/* ---- history ---- */

static void history_reset(struct history *h)
{
	for (unsigned int i = 0; i < REC_COL_NR; i++)
		h[i].len = 0;
}

static void history_add(struct history *h, const void *data, size_t len)
{
	size_t keep;

	if (!len)
		return;
	if (len > REC_HISTORY) {
		data = (const uint8_t *)data + (len - REC_HISTORY);
		len = REC_HISTORY;
	}
	keep = MIN((size_t)h->len, REC_HISTORY - len);
	memmove(h->b, h->b + h->len - keep, keep);
	memcpy(h->b + keep, data, len);
	h->len = (uint32_t)(keep + len);
}

/* The histories of @f's columns, one behind the other. */
static size_t history_prefix(const struct history *h, const struct frame *f, uint8_t *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->ncols; i++) {
		memcpy(out + n, h[f->col[i]].b, h[f->col[i]].len);
		n += h[f->col[i]].len;
	}
	return n;
}

/* ---- packing ---- */

struct stream_enc *stream_enc_new(int level)
{
	struct stream_enc *e = xcalloc(1, sizeof(*e));

	e->codec = codec_enc_new(level);
	return e;
}

void stream_enc_free(struct stream_enc *e)
{
	if (!e)
		return;
	codec_enc_free(e->codec);
	strbuf_fini(&e->raw);
	strbuf_fini(&e->body);
	free(e->tmp);
	free(e);
}

/* Bytes of frame @f to the end of @e->body, its header to @out. */
static void pack_frame(struct stream_enc *e, struct frame *f, const struct strbuf *col,
		       struct strbuf *out)
{
	size_t n = 0;

	if (!f->ncols)
		return;
	strbuf_reset(&e->raw);
	for (uint32_t i = 0; i < f->ncols; i++)
		strbuf_add(&e->raw, col[f->col[i]].s, col[f->col[i]].len);
	f->raw = e->raw.len;
	f->method = REC_FRAME_ZSTD;
	if (f->raw >= FRAME_SMALL) {
		bool hist = f->col[0] >= REC_COL_FIRST_SAMPLE;
		size_t hist_len = hist ? history_prefix(e->hist, f, e->prefix) : 0;

		if (hist_len)
			f->method = REC_FRAME_ZSTD_HIST;
		if (e->cap < codec_bound(f->raw)) {
			e->cap = codec_bound(f->raw);
			e->tmp = xrealloc(e->tmp, e->cap);
		}
		n = codec_compress(e->codec, e->tmp, e->cap, e->raw.s, f->raw, e->prefix, hist_len);
	}
	if (!n || n >= f->raw) {
		n = f->raw;
		f->method = REC_FRAME_STORED;
	}
	strbuf_add(&e->body, f->method == REC_FRAME_STORED ? e->raw.s : e->tmp, n);
	strbuf_addc(out, (char)f->method);
	strbuf_add_varint(out, f->ncols);
	for (uint32_t i = 0; i < f->ncols; i++) {
		strbuf_addc(out, (char)f->col[i]);
		strbuf_add_varint(out, col[f->col[i]].len);
	}
	strbuf_add_varint(out, n);
}

void stream_pack(struct stream_enc *e, bool key, const struct strbuf *col, struct strbuf *out)
{
	struct frame frames[REC_FRAMES_MAX] = { 0 };
	uint32_t n = 2, used = 0;

	/*
	 * Frame 0: what stands for itself; 1: small sample columns; then one for each large column.
	 */
	for (uint32_t i = 0; i < REC_COL_NR; i++) {
		struct frame *f = &frames[i < REC_COL_FIRST_SAMPLE ? 0 : 1];

		if (!col[i].len)
			continue;
		if (i >= REC_COL_FIRST_SAMPLE && col[i].len >= COLUMN_LARGE)
			f = &frames[n++];
		f->col[f->ncols++] = (uint8_t)i;
	}
	for (uint32_t i = 0; i < n; i++)
		used += frames[i].ncols != 0;
	if (key)
		history_reset(e->hist);
	strbuf_reset(&e->body);
	strbuf_add_varint(out, used);
	for (uint32_t i = 0; i < n; i++)
		pack_frame(e, &frames[i], col, out);
	strbuf_add(out, e->body.s, e->body.len);
	for (uint32_t i = REC_COL_FIRST_SAMPLE; i < REC_COL_NR; i++)
		history_add(&e->hist[i], col[i].s, col[i].len);
}

/* ---- unpacking ---- */

struct stream_dec *stream_dec_new(void)
{
	struct stream_dec *d = xcalloc(1, sizeof(*d));

	d->codec = codec_dec_new();
	return d;
}

void stream_dec_free(struct stream_dec *d)
{
	if (!d)
		return;
	codec_dec_free(d->codec);
	free(d->raw);
	free(d);
}

/* A frame's header. Every column once in the block, lengths within @raw_left. */
static int read_frame(struct cursor *c, struct frame *f, uint32_t *seen, size_t *raw_left)
{
	uint64_t n, len;

	f->raw = 0;
	f->method = cursor_u8(c);
	n = cursor_varint(c);
	if (f->method >= REC_FRAME_NR || n > REC_COL_NR)
		return -EINVAL;
	f->ncols = (uint32_t)n;
	for (uint32_t i = 0; i < f->ncols; i++) {
		uint8_t col = cursor_u8(c);

		len = cursor_varint(c);
		if (col >= REC_COL_NR || *seen & 1u << col || len > *raw_left)
			return -EINVAL;
		if (f->method == REC_FRAME_ZSTD_HIST && col < REC_COL_FIRST_SAMPLE)
			return -EINVAL;
		*seen |= 1u << col;
		*raw_left -= len;
		f->raw += len;
		f->col[i] = col;
		f->len[i] = len;
	}
	len = cursor_varint(c);
	if (!cursor_ok(c) || len > REC_BLOCK_MAX)
		return -EINVAL;
	f->stored = len;
	return 0;
}

static int unpack_frame(struct stream_dec *d, const struct frame *f, const void *src, uint8_t *dst)
{
	size_t hist_len = 0;

	if (f->method == REC_FRAME_STORED) {
		if (f->stored != f->raw)
			return -EINVAL;
		memcpy(dst, src, f->raw);
		return 0;
	}
	if (f->method == REC_FRAME_ZSTD_HIST)
		hist_len = history_prefix(d->hist, f, d->prefix);
	return codec_decompress(d->codec, dst, f->raw, src, f->stored, d->prefix, hist_len);
}

static bool wanted(const struct frame *f, bool samples)
{
	for (uint32_t i = 0; i < f->ncols; i++)
		if (samples || f->col[i] < REC_COL_FIRST_SAMPLE)
			return true;
	return false;
}

int stream_unpack(struct stream_dec *d, bool key, bool samples, const void *payload, size_t len,
		  size_t raw_len, struct cursor *col)
{
	struct frame frames[REC_FRAMES_MAX];
	struct cursor c;
	uint32_t seen = 0;
	uint64_t n;
	uint8_t *at;

	cursor_init(&c, payload, len);
	for (uint32_t i = 0; i < REC_COL_NR; i++)
		cursor_init(&col[i], "", 0);
	n = cursor_varint(&c);
	if (n > REC_FRAMES_MAX || raw_len > REC_BLOCK_MAX)
		return -EINVAL;
	if (d->cap < raw_len) {
		d->cap = raw_len;
		d->raw = xrealloc(d->raw, d->cap);
	}
	at = d->raw;
	for (uint64_t i = 0; i < n; i++)
		if (read_frame(&c, &frames[i], &seen, &raw_len))
			return -EINVAL;
	if (raw_len)
		return -EINVAL;
	if (key)
		history_reset(d->hist);
	for (uint64_t i = 0; i < n; i++) {
		const struct frame *f = &frames[i];
		const void *src = cursor_bytes(&c, f->stored);

		if (!src)
			return -EINVAL;
		if (!wanted(f, samples))
			continue;
		if (unpack_frame(d, f, src, at))
			return -EINVAL;
		for (uint32_t k = 0; k < f->ncols; k++) {
			cursor_init(&col[f->col[k]], at, f->len[k]);
			at += f->len[k];
		}
	}
	/* Only now: two frames of one block are primed with the same, older history. */
	for (uint32_t i = REC_COL_FIRST_SAMPLE; samples && i < REC_COL_NR; i++)
		history_add(&d->hist[i], col[i].base, col[i].size);
	return 0;
}
