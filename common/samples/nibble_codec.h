/*
 * Entropy coding of symbols below 16, each under a context: a bank of models that learn as they go,
 * one for each context, and a range variant of asymmetric numeral systems (rANS, J. Duda 2013,
 * arXiv:1311.2540) over what they say. Encoder and decoder learn the same, so that nothing but the
 * code goes into the file. The one who encodes samples only notes symbols (nibble_put()); models and
 * code are the business of the thread that packs blocks.
 */
#ifndef NSPROF_NIBBLE_CODEC_H
#define NSPROF_NIBBLE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define NIBBLE_CONTEXTS 32768u

/* No context: a symbol without a model, as likely as any other, and cheaper than all that have one. */
#define NIBBLE_FLAT NIBBLE_CONTEXTS
/* Contexts of a number: its length, and its upper two digits of 4 bits. */
#define NIBBLE_NUM (1u + 16 + 256)
/* Of one that is below 15 as a rule. */
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

void nibble_add(struct strbuf *out, const struct strbuf *syms);	/* all of @syms */
/* Any @v, small ones in few symbols; @ctx is the first of NIBBLE_NUM contexts. */
void nibble_put_num(struct strbuf *out, uint32_t ctx, uint64_t v);
void nibble_put_snum(struct strbuf *out, uint32_t ctx, int64_t v);
/* The same in one symbol if @v is below 15; @ctx is the first of NIBBLE_SMALL contexts. */
void nibble_put_small(struct strbuf *out, uint32_t ctx, uint64_t v);
/* @id below @n, which is at most 2^20 and known to both sides; the first of NIBBLE_ID contexts. */
void nibble_put_id(struct strbuf *out, uint32_t ctx, uint32_t id, uint32_t n);

/* ---- symbols to code ---- */

struct nibble_enc;

struct nibble_enc *nibble_enc_new(void);
void nibble_enc_free(struct nibble_enc *e);	/* accepts NULL */
void nibble_enc_reset(struct nibble_enc *e);	/* forget what was learnt */
/* Append the code of the symbols in @syms to @out. */
void nibble_enc_pack(struct nibble_enc *e, const struct strbuf *syms, struct strbuf *out);

/* Append the symbols in @syms as they are, two in a byte, the first in the low half. Learns nothing. */
void nibble_plain(const struct strbuf *syms, struct strbuf *out);

/* ---- code to symbols ---- */

struct nibble_dec;

struct nibble_dec *nibble_dec_new(void);
void nibble_dec_free(struct nibble_dec *d);	/* accepts NULL */
void nibble_dec_reset(struct nibble_dec *d);
/* From now on as on a CPU without AVX2, with the same symbols. False: it was so already. */
bool nibble_dec_narrow(struct nibble_dec *d);
/*
 * @n symbols in @len bytes at @code, which stay valid until the last of them was taken; @plain: from
 * nibble_plain(). Damage gives wrong symbols, and more than @n are zeros; see nibble_dec_ok().
 */
void nibble_dec_begin(struct nibble_dec *d, const void *code, size_t len, uint64_t n, bool plain);
/* False once more symbols or bytes were asked for than there are. */
bool nibble_dec_ok(const struct nibble_dec *d);
/* True when all of the symbols and bytes were taken. */
bool nibble_dec_done(const struct nibble_dec *d);

uint32_t nibble_get(struct nibble_dec *d, uint32_t ctx);
uint64_t nibble_get_num(struct nibble_dec *d, uint32_t ctx);
int64_t nibble_get_snum(struct nibble_dec *d, uint32_t ctx);
uint64_t nibble_get_small(struct nibble_dec *d, uint32_t ctx);
/* Below 2^20: the caller has to compare with @n. */
uint32_t nibble_get_id(struct nibble_dec *d, uint32_t ctx, uint32_t n);

#endif
