/*
 * Payload of a STREAM block: u8 method; varint bytes of ORDER, of EVENTS, and of both as stored;
 * varint number of symbols; with switches varint number of their symbols, bytes of their code, and
 * of their bits; ORDER and EVENTS; the code and bits of switches; the symbols up to the end.
 */
#include "recording/stream_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "bytes/codec.h"
#include "event.h"
#include "samples/nibble_codec.h"
#include "samples/switch_codec.h"

#define LEVEL_FAST 1
#define SMALL 48u		/* below, a zstd header costs more than it saves */

struct stream_enc {
	struct codec_enc *codec;
	struct nibble_enc *nibbles;
	struct switch_enc *switches;	/* NULL until there is one, as what follows */
	struct nibble_enc *switch_nibbles;
	struct strbuf switch_syms, switch_code, switch_bits;
	int level;			/* of STREAM_BEST */
	enum stream_effort effort;
	struct strbuf raw;		/* ORDER and EVENTS */
	char *tmp;			/* owned; output of zstd */
	size_t cap;
};

struct stream_dec {
	struct codec_dec *codec;
	bool events;
};

/* ---- packing ---- */

struct stream_enc *stream_enc_new(int level)
{
	struct stream_enc *e = xcalloc(1, sizeof(*e));

	e->codec = codec_enc_new(level);
	e->nibbles = nibble_enc_new();
	e->level = level;
	return e;
}

void stream_enc_free(struct stream_enc *e)
{
	if (!e)
		return;
	codec_enc_free(e->codec);
	nibble_enc_free(e->nibbles);
	switch_enc_free(e->switches);
	nibble_enc_free(e->switch_nibbles);
	strbuf_fini(&e->switch_syms);
	strbuf_fini(&e->switch_code);
	strbuf_fini(&e->switch_bits);
	strbuf_fini(&e->raw);
	free(e->tmp);
	free(e);
}

/* Packs ORDER and EVENTS from @e->raw into @e->tmp. Returns bytes, or 0: better left unpacked. */
static size_t pack_raw(struct stream_enc *e)
{
	size_t n;

	if (e->effort == STREAM_STORED || e->raw.len < SMALL)
		return 0;
	if (e->cap < codec_bound(e->raw.len)) {
		e->cap = codec_bound(e->raw.len);
		e->tmp = xrealloc(e->tmp, e->cap);
	}
	n = codec_compress(e->codec, e->tmp, e->cap, e->raw.s, e->raw.len);
	return n < e->raw.len ? n : 0;
}

/* Packs switches into @e->switch_code and switch_bits. Models are new in each block. */
static void pack_switches(struct stream_enc *e, const struct strbuf *col, bool plain)
{
	if (!e->switches) {
		e->switches = switch_enc_new();
		e->switch_nibbles = nibble_enc_new();
	}
	strbuf_reset(&e->switch_syms);
	strbuf_reset(&e->switch_code);
	strbuf_reset(&e->switch_bits);
	switch_encode(e->switches, (const struct ev_switch *)(const void *)col->s, col->len / sizeof(struct ev_switch),
		      &e->switch_syms, &e->switch_bits);
	if (plain) {
		nibble_plain(&e->switch_syms, &e->switch_code);
		return;
	}
	nibble_enc_reset(e->switch_nibbles);
	nibble_enc_pack(e->switch_nibbles, &e->switch_syms, &e->switch_code);
}

size_t stream_pack(struct stream_enc *e, enum stream_effort effort, bool key, bool marks,
		   const struct strbuf *col, struct strbuf *out)
{
	const struct strbuf *order = &col[REC_COL_ORDER], *events = &col[REC_COL_EVENTS];
	const struct strbuf *syms = &col[REC_COL_SAMPLES];
	bool plain = effort == STREAM_STORED, switches = col[REC_COL_SWITCHES].len;
	size_t n;

	if (e->effort != effort)
		codec_enc_level(e->codec, effort == STREAM_FAST ? LEVEL_FAST : e->level);
	e->effort = effort;
	strbuf_reset(&e->raw);
	strbuf_add(&e->raw, order->s, order->len);
	strbuf_add(&e->raw, events->s, events->len);
	n = pack_raw(e);
	strbuf_addc(out, (char)((n ? REC_STREAM_ZSTD : 0) | (plain ? REC_STREAM_PLAIN : 0) |
			      (switches ? REC_STREAM_SWITCHES : 0) | (marks ? REC_STREAM_MARKS : 0)));
	strbuf_add_varint(out, order->len);
	strbuf_add_varint(out, events->len);
	strbuf_add_varint(out, n ? n : e->raw.len);
	strbuf_add_varint(out, syms->len / REC_SYMBOL);
	if (switches) {
		pack_switches(e, &col[REC_COL_SWITCHES], plain);
		strbuf_add_varint(out, e->switch_syms.len / REC_SYMBOL);
		strbuf_add_varint(out, e->switch_code.len);
		strbuf_add_varint(out, e->switch_bits.len);
	}
	strbuf_add(out, n ? e->tmp : e->raw.s, n ? n : e->raw.len);
	if (switches) {
		strbuf_add(out, e->switch_code.s, e->switch_code.len);
		strbuf_add(out, e->switch_bits.s, e->switch_bits.len);
	}
	if (key)
		nibble_enc_reset(e->nibbles);
	if (plain)
		nibble_plain(syms, out);
	else
		nibble_enc_pack(e->nibbles, syms, out);
	return order->len + events->len + syms->len + (switches ? e->switch_syms.len : 0);
}

/* ---- unpacking ---- */

struct stream_dec *stream_dec_new(bool events)
{
	struct stream_dec *d = xcalloc(1, sizeof(*d));

	d->codec = codec_dec_new();
	d->events = events;
	return d;
}

void stream_dec_free(struct stream_dec *d)
{
	if (!d)
		return;
	codec_dec_free(d->codec);
	free(d);
}

int stream_unpack(struct stream_dec *d, const void *payload, size_t len, size_t raw_len,
		  struct stream_parts *parts)
{
	const uint8_t known = REC_STREAM_ZSTD | REC_STREAM_PLAIN | (d->events ? REC_STREAM_SWITCHES | REC_STREAM_MARKS : 0);
	uint64_t order, events, stored, symbols, code = 0, bits = 0;
	struct cursor c;
	const void *src;
	uint8_t method;
	size_t plain;

	cursor_init(&c, payload, len);
	method = cursor_u8(&c);
	order = cursor_varint(&c);
	events = cursor_varint(&c);
	stored = cursor_varint(&c);
	parts->symbols = cursor_varint(&c);
	parts->switches.symbols = 0;
	if (method & REC_STREAM_SWITCHES) {
		parts->switches.symbols = cursor_varint(&c);
		code = cursor_varint(&c);
		bits = cursor_varint(&c);
	}
	src = cursor_bytes(&c, stored);
	if (!src || method & ~known || raw_len > REC_BLOCK_MAX ||
	    order > raw_len || events > raw_len - order)
		return -EINVAL;
	plain = order + events;
	symbols = (raw_len - plain) / REC_SYMBOL;
	if ((raw_len - plain) % REC_SYMBOL || parts->symbols > symbols || parts->switches.symbols != symbols - parts->symbols)
		return -EINVAL;
	if (method & REC_STREAM_ZSTD) {
		if (parts->cap < plain) {
			parts->cap = plain;
			parts->raw = xrealloc(parts->raw, parts->cap);
		}
		if (codec_decompress(d->codec, parts->raw, plain, src, stored))
			return -EINVAL;
		src = parts->raw;
	} else if (stored != plain) {
		return -EINVAL;
	}
	cursor_init(&parts->order, src, order);
	cursor_init(&parts->events, (const uint8_t *)src + order, events);
	parts->plain = method & REC_STREAM_PLAIN;
	if (code > cursor_left(&c) || bits > cursor_left(&c) - code)
		return -EINVAL;
	cursor_init(&parts->switches.code, cursor_bytes(&c, code), code);
	cursor_init(&parts->switches.bits, cursor_bytes(&c, bits), bits);
	parts->switches.plain = parts->plain;
	parts->marks = parts->switches.marks = method & REC_STREAM_MARKS;
	len = cursor_left(&c);
	cursor_init(&parts->code, cursor_bytes(&c, len), len);
	return 0;
}

void stream_parts_fini(struct stream_parts *parts)
{
	free(parts->raw);
	parts->raw = NULL;
	parts->cap = 0;
}
