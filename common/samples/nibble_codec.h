/*
 * Entropy coding of symbols below 16, each under a context: adaptive models, one for each context,
 * drive a range variant of asymmetric numeral systems (rANS, J. Duda 2013, arXiv:1311.2540).
 * Encoder and decoder learn the same, so only the code goes into the file. Whoever encodes samples
 * only notes symbols (nibble_put()). The thread that packs blocks runs the models and produces the
 * code.
 */
#ifndef NSPROF_NIBBLE_CODEC_H
#define NSPROF_NIBBLE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define NIBBLE_CONTEXTS 49152u

/*
 * No context: a symbol without a model, all values equally likely. Cheaper than symbols with a
 * model.
 */
#define NIBBLE_FLAT NIBBLE_CONTEXTS
/* Contexts of a number: its length, and its upper two digits of 4 bits. */
#define NIBBLE_NUM (1u + 16 + 256)
/* Contexts of a number that is usually below 15. */
#define NIBBLE_SMALL (1u + NIBBLE_NUM)
/* Contexts of an id below 2^20: a tree of four digits of 4 bits, and one above. */
#define NIBBLE_ID (1u + 16 + 256 + 4096 + 1)

/* ---- noting symbols: 4 bytes each, context << 4 | symbol ---- */

void nibble_grow(struct strbuf *out);

static inline void nibble_put(struct strbuf *out, uint32_t ctx, uint32_t sym)
{
	uint32_t v = ctx << 4 | sym;

	if (out->cap - out->len < sizeof(v))
		nibble_grow(out);
	__builtin_memcpy(out->s + out->len, &v, sizeof(v));
	out->len += sizeof(v);
}

/* Replace the symbol under @ctx that is at byte @at of @out. */
static inline void nibble_set(struct strbuf *out, size_t at, uint32_t ctx, uint32_t sym)
{
	uint32_t v = ctx << 4 | sym;

	__builtin_memcpy(out->s + at, &v, sizeof(v));
}

void nibble_add(struct strbuf *out, const struct strbuf *syms);	/* all of @syms */
/* Any @v; small ones take few symbols. @ctx is the first of NIBBLE_NUM contexts. */
void nibble_put_num(struct strbuf *out, uint32_t ctx, uint64_t v);
void nibble_put_snum(struct strbuf *out, uint32_t ctx, int64_t v);
/* The same, but one symbol if @v is below 15; @ctx is the first of NIBBLE_SMALL contexts. */
void nibble_put_small(struct strbuf *out, uint32_t ctx, uint64_t v);
/*
 * @id is below @n, which is at most 2^20 and known to the decoder. @ctx: first of NIBBLE_ID
 * contexts.
 */
void nibble_put_id(struct strbuf *out, uint32_t ctx, uint32_t id, uint32_t n);

/* ---- symbols to code ---- */

struct nibble_enc;

struct nibble_enc *nibble_enc_new(void);
void nibble_enc_free(struct nibble_enc *e);	/* accepts NULL */
void nibble_enc_reset(struct nibble_enc *e);	/* forget what the models learned */
/* Append the code of the symbols in @syms to @out. */
void nibble_enc_pack(struct nibble_enc *e, const struct strbuf *syms, struct strbuf *out);

/*
 * Append the symbols in @syms as they are, two in a byte, the first in the low half. Learns
 * nothing.
 */
void nibble_plain(const struct strbuf *syms, struct strbuf *out);

/* ---- code to symbols ---- */

struct nibble_dec;

struct nibble_dec *nibble_dec_new(void);
void nibble_dec_free(struct nibble_dec *d);	/* accepts NULL */
void nibble_dec_reset(struct nibble_dec *d);
/* From now on decode as on a CPU without AVX2; symbols stay the same. False: it already does. */
bool nibble_dec_narrow(struct nibble_dec *d);
/*
 * Start on @n symbols in @len bytes at @code, which must stay valid until the last one was taken.
 * @plain: from nibble_plain(). Damage gives wrong symbols; symbols after the first @n are zeros.
 * See nibble_dec_ok().
 */
void nibble_dec_begin(struct nibble_dec *d, const void *code, size_t len, uint64_t n, bool plain);
/* False once more symbols or bytes were requested than there are. */
bool nibble_dec_ok(const struct nibble_dec *d);
/* True when all symbols and bytes were taken. */
bool nibble_dec_done(const struct nibble_dec *d);

uint32_t nibble_get(struct nibble_dec *d, uint32_t ctx);
uint64_t nibble_get_num(struct nibble_dec *d, uint32_t ctx);
int64_t nibble_get_snum(struct nibble_dec *d, uint32_t ctx);
uint64_t nibble_get_small(struct nibble_dec *d, uint32_t ctx);
/* The result is below 2^20: the caller must compare it with @n. */
uint32_t nibble_get_id(struct nibble_dec *d, uint32_t ctx, uint32_t n);

#endif
