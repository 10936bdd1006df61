/* What the slice_*.c files share. One walk serves both directions, so that they cannot differ. */
#ifndef NSPROF_SLICE_PRIV_H
#define NSPROF_SLICE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "elf/elf_write.h"
#include "samples/nibble_codec.h"

/* Contexts. A class is the number of 4-bit digits of a size, at most 15. */
enum slice_ctx {
	CTX_HEAD = 0,					/* rare numbers */
	CTX_AT = CTX_HEAD + NIBBLE_NUM,			/* [at of the previous symbol] */
	CTX_LOW = CTX_AT + 16,				/* [its low digit] */
	CTX_GAP = CTX_LOW + 16,
	CTX_IN = CTX_GAP + NIBBLE_NUM,
	CTX_SIZE = CTX_IN + NIBBLE_NUM,
	CTX_TYPE = CTX_SIZE + NIBBLE_NUM,		/* [type and bind of the previous symbol] */
	CTX_BIND = CTX_TYPE + 256,			/* [same] */
	CTX_KIND = CTX_BIND + 256,
	CTX_SKIP = CTX_KIND + 1,
	CTX_OFF = CTX_SKIP + NIBBLE_NUM,		/* [class of the symbol's size] */
	CTX_TO_END = CTX_OFF + 16 * NIBBLE_NUM,		/* [FDE begins with it][class of rest] */
	CTX_RANGE = CTX_TO_END + 32,			/* [class of what is left] */
	CTX_OP_HIGH = CTX_RANGE + 16 * NIBBLE_NUM,	/* [state] */
	CTX_OP_LOW = CTX_OP_HIGH + 4096,		/* [state and the high digit, hashed] */
	CTX_CFA = CTX_OP_LOW + 8192,
	CTX_STEP = CTX_CFA + NIBBLE_NUM,		/* [the previous step] */
	CTX_SAVED = CTX_STEP + 16,		/* [register][place of the previous one] */
	CTX_SAVED_FAR = CTX_SAVED + 256,
	CTX_ADVANCE = CTX_SAVED_FAR + NIBBLE_NUM,
	CTX_OPERAND = CTX_ADVANCE + NIBBLE_NUM,
	CTX_MAX = CTX_OPERAND + NIBBLE_NUM,
};
_Static_assert(CTX_MAX <= NIBBLE_CONTEXTS, "they all have a model");

/* Either writes what it is given (dec is NULL) or returns what was written. */
struct slice_coder {
	struct nibble_dec *dec;		/* borrowed */
	struct strbuf *symbols, *text;	/* output; borrowed */
	struct cursor from;		/* text to read */
	size_t max;			/* limit in bytes for what is decoded */
	bool bad;			/* not a slice as we write them, or damaged */
};

static inline uint32_t slice_digit(struct slice_coder *c, uint32_t ctx, uint32_t v)
{
	if (c->dec)
		return nibble_get(c->dec, ctx);
	nibble_put(c->symbols, ctx, v);
	return v;
}

static inline uint64_t slice_num(struct slice_coder *c, uint32_t ctx, uint64_t v)
{
	if (c->dec)
		return nibble_get_num(c->dec, ctx);
	nibble_put_num(c->symbols, ctx, v);
	return v;
}

static inline int64_t slice_snum(struct slice_coder *c, uint32_t ctx, int64_t v)
{
	if (c->dec)
		return nibble_get_snum(c->dec, ctx);
	nibble_put_snum(c->symbols, ctx, v);
	return v;
}

/* False once anything went wrong. */
static inline bool slice_ok(const struct slice_coder *c)
{
	return !c->bad && cursor_ok(&c->from) && (!c->dec || nibble_dec_ok(c->dec));
}

static inline uint32_t slice_class(uint64_t size)
{
	uint32_t n = size ? (67 - (uint32_t)__builtin_clzll(size)) / 4 : 0;

	return n < 15 ? n : 15;
}

/* @len bytes of text at *@p. When reading: borrowed from it, NULL when there are too few. */
static inline void slice_bytes(struct slice_coder *c, const void **p, size_t len)
{
	if (c->dec)
		*p = cursor_bytes(&c->from, len);
	else
		strbuf_add(c->text, *p, len);
}

/*
 * Code the .eh_frame of @s, whose symbols are sorted by address. When reading, it is appended to
 * @out, at most c->max bytes.
 */
void slice_cfi(struct slice_coder *c, const struct elf_slice *s, struct strbuf *out);

/*
 * The parts of a file from elf_write(). The caller frees loads and syms. Names and everything else
 * are borrowed from @elf. False for a file that elf_write() did not make, though some such files
 * pass.
 */
bool slice_parse(const void *elf, size_t size, struct elf_slice *s);

#endif
