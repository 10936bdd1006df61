/* Compression by zstd. No other file includes zstd.h. */
#include "bytes/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/log.h"
#include "base/xalloc.h"

struct codec_enc {
	ZSTD_CCtx *ctx;
};

struct codec_dec {
	ZSTD_DCtx *ctx;
};

struct codec_enc *codec_enc_new(int level)
{
	struct codec_enc *e = xmalloc(sizeof(*e));

	e->ctx = ZSTD_createCCtx();
	if (!e->ctx) {		/* out of memory, as in xalloc */
		pr_err("out of memory");
		exit(1);
	}
	ZSTD_CCtx_setParameter(e->ctx, ZSTD_c_compressionLevel, level);
	/* Blocks have their own lengths and checksum. */
	ZSTD_CCtx_setParameter(e->ctx, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(e->ctx, ZSTD_c_checksumFlag, 0);
	ZSTD_CCtx_setParameter(e->ctx, ZSTD_c_dictIDFlag, 0);
	return e;
}

void codec_enc_level(struct codec_enc *e, int level)
{
	ZSTD_CCtx_reset(e->ctx, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(e->ctx, ZSTD_c_compressionLevel, level);
}

void codec_enc_free(struct codec_enc *e)
{
	if (!e)
		return;
	ZSTD_freeCCtx(e->ctx);
	free(e);
}

size_t codec_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

size_t codec_compress(struct codec_enc *e, void *dst, size_t cap, const void *src, size_t len)
{
	size_t n;

	/* An earlier failed call may have left state behind. */
	ZSTD_CCtx_reset(e->ctx, ZSTD_reset_session_only);
	n = ZSTD_compress2(e->ctx, dst, cap, src, len);
	return ZSTD_isError(n) ? 0 : n;
}

struct codec_dec *codec_dec_new(void)
{
	struct codec_dec *d = xmalloc(sizeof(*d));

	d->ctx = ZSTD_createDCtx();
	if (!d->ctx) {
		pr_err("out of memory");
		exit(1);
	}
	return d;
}

void codec_dec_free(struct codec_dec *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->ctx);
	free(d);
}

int codec_decompress(struct codec_dec *d, void *dst, size_t len, const void *src, size_t src_len)
{
	size_t n;

	ZSTD_DCtx_reset(d->ctx, ZSTD_reset_session_only);
	n = ZSTD_decompressDCtx(d->ctx, dst, len, src, src_len);
	return ZSTD_isError(n) || n != len ? -EINVAL : 0;
}

struct codec_stream {
	ZSTD_DCtx *ctx;
};

struct codec_stream *codec_stream_new(void)
{
	struct codec_stream *s = xmalloc(sizeof(*s));

	s->ctx = ZSTD_createDCtx();
	if (!s->ctx) {
		pr_err("out of memory");
		exit(1);
	}
	return s;
}

void codec_stream_free(struct codec_stream *s)
{
	if (!s)
		return;
	ZSTD_freeDCtx(s->ctx);
	free(s);
}

int codec_stream(struct codec_stream *s, void *dst, size_t cap, size_t *len, const uint8_t **src, size_t *left)
{
	ZSTD_inBuffer in = { *src, *left, 0 };
	ZSTD_outBuffer out = { dst, cap, 0 };
	size_t ret = 0;

	do {
		size_t before = in.pos + out.pos;

		ret = ZSTD_decompressStream(s->ctx, &out, &in);
		if (ZSTD_isError(ret) || in.pos + out.pos == before)
			break;
	} while (out.pos < out.size);
	*len = out.pos;
	*src += in.pos;
	*left -= in.pos;
	return ZSTD_isError(ret) ? -EINVAL : 0;
}

const char *codec_version(void)
{
	return "zstd " ZSTD_VERSION_STRING;
}
