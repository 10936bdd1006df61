#include "slice/slice_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/codec.h"
#include "elf/elf_write.h"
#include "recording.h"
#include "samples/nibble_codec.h"
#include "slice/slice_priv.h"

/*
 * Limit of a file's bytes per packed byte; real files have 3 to 15. Without it, a recording of a
 * few blocks could keep its reader busy for hours.
 */
#define GROWTH_MAX 256u
#define KEEP (1u << 20)		/* bytes; larger buffers are not kept from file to file */

struct slice_enc {
	struct nibble_enc *nibbles;
	struct nibble_dec *dec;		/* for checking what was packed */
	struct strbuf symbols, text, code, trial;
	char *tmp;			/* owned; output of zstd */
	size_t cap;
};

struct slice_dec {
	struct nibble_dec *nibbles;
	struct codec_dec *codec;
	char *text;			/* owned */
	size_t cap;
};

/* ---- both directions ---- */

/* Bytes with their length. */
static void code_blob(struct slice_coder *c, const void **p, size_t *len)
{
	*len = slice_num(c, CTX_HEAD, *len);
	if (*len)
		slice_bytes(c, p, *len);
	c->bad |= !slice_ok(c);
}

static void code_head(struct slice_coder *c, struct elf_slice *s, struct elf_load *loads)
{
	uint64_t vaddr = 0, id_len = s->build_id_len;
	const void *id = s->build_id;

	s->type = (uint16_t)slice_num(c, CTX_HEAD, s->type);
	s->machine = (uint16_t)slice_num(c, CTX_HEAD, s->machine);
	s->entry = slice_num(c, CTX_HEAD, s->entry);
	code_blob(c, &id, &id_len);
	s->build_id = id;
	s->build_id_len = id_len;
	code_blob(c, &s->debuglink, &s->debuglink_size);
	code_blob(c, &s->debugdata, &s->debugdata_size);
	for (size_t i = 0; i < s->nloads; i++) {
		struct elf_load *l = &loads[i];

		l->flags = (uint32_t)slice_num(c, CTX_HEAD, l->flags);
		vaddr += slice_num(c, CTX_HEAD, l->vaddr - vaddr);
		l->vaddr = vaddr;
		l->offset = vaddr - slice_num(c, CTX_HEAD, vaddr - l->offset);
		l->filesz = slice_num(c, CTX_HEAD, l->filesz);
		l->memsz = l->filesz + slice_num(c, CTX_HEAD, l->memsz - l->filesz);
		vaddr += l->memsz;
	}
}

enum at { AT_BEHIND, AT_SAME, AT_WITHIN };

static enum at at_of(const struct elf_sym *prev, const struct elf_sym *sym)
{
	if (sym->svma == prev->svma)
		return AT_SAME;
	return sym->svma - prev->svma >= prev->size ? AT_BEHIND : AT_WITHIN;
}

/* Where a symbol begins: its low digit shows its alignment. */
static void code_svma(struct slice_coder *c, const struct elf_sym *prev, uint32_t at,
		      struct elf_sym *sym)
{
	uint64_t base = prev->svma + (at == AT_BEHIND ? prev->size : 0), low;

	if (at == AT_SAME) {
		sym->svma = prev->svma;
		return;
	}
	low = slice_digit(c, CTX_LOW + (prev->svma & 15), sym->svma & 15);
	sym->svma = ((base >> 4) + slice_num(c, at == AT_BEHIND ? CTX_GAP : CTX_IN,
					     (sym->svma >> 4) - (base >> 4))) << 4 | low;
}

static void code_symbols(struct slice_coder *c, struct elf_sym *syms, size_t n)
{
	struct elf_sym prev = { 0 };
	uint32_t at = AT_BEHIND, form;

	for (size_t i = 0; i < n && slice_ok(c); i++) {
		struct elf_sym *s = &syms[i];
		size_t len = c->dec ? 0 : strlen(s->name) + 1;

		at = slice_digit(c, CTX_AT + at, at_of(&prev, s));
		code_svma(c, &prev, at, s);
		s->size = prev.size * (at == AT_SAME) ^
			  slice_num(c, CTX_SIZE, s->size ^ prev.size * (at == AT_SAME));
		form = (prev.type & 15u) << 4 | (prev.bind & 15u);
		s->type = (uint8_t)slice_digit(c, CTX_TYPE + form, s->type);
		s->bind = (uint8_t)slice_digit(c, CTX_BIND + form, s->bind);
		if (c->dec)
			s->name = cursor_cstr(&c->from);
		else
			strbuf_add(c->text, s->name, len);
		prev = *s;
	}
}

/* ---- writing ---- */

struct slice_enc *slice_enc_new(void)
{
	struct slice_enc *e = xcalloc(1, sizeof(*e));

	e->nibbles = nibble_enc_new();
	e->dec = nibble_dec_new();
	return e;
}

void slice_enc_free(struct slice_enc *e)
{
	if (!e)
		return;
	nibble_enc_free(e->nibbles);
	nibble_dec_free(e->dec);
	strbuf_fini(&e->symbols);
	strbuf_fini(&e->text);
	strbuf_fini(&e->code);
	strbuf_fini(&e->trial);
	free(e->tmp);
	free(e);
}

static void free_slice(struct elf_slice *s)
{
	free((void *)s->loads);
	free((void *)s->syms);
}

/* Not const: a coder reads what it writes from where it stores what it reads. */
static bool note_slice(struct slice_enc *e, struct elf_slice *s)
{
	struct slice_coder c = { .symbols = &e->symbols, .text = &e->text };

	cursor_init(&c.from, "", 1);
	slice_num(&c, CTX_HEAD, s->nloads);
	slice_num(&c, CTX_HEAD, s->nsyms);
	slice_num(&c, CTX_HEAD, s->eh_frame_size != 0);
	code_head(&c, s, (struct elf_load *)s->loads);
	code_symbols(&c, (struct elf_sym *)s->syms, s->nsyms);
	if (s->eh_frame_size)
		slice_cfi(&c, s, NULL);
	return slice_ok(&c);
}

/*
 * Append the slice of @size bytes that @dec and @text encode to @out. @names: without the rows,
 * which come last.
 */
static bool read_slice(struct nibble_dec *dec, const void *text, size_t len, size_t size, bool names,
		       struct strbuf *out)
{
	struct slice_coder c = { .dec = dec, .max = size };
	struct strbuf eh_frame = STRBUF_INIT;
	const size_t from = out->len;
	struct elf_slice s = { 0 };
	struct elf_load *loads;
	struct elf_sym *syms;
	bool has_cfi, ok;

	cursor_init(&c.from, text, len);
	s.nloads = slice_num(&c, CTX_HEAD, 0);
	s.nsyms = slice_num(&c, CTX_HEAD, 0);
	has_cfi = slice_num(&c, CTX_HEAD, 0);
	/* Each of them takes at least this many bytes of the file. */
	if (!slice_ok(&c) || s.nloads > MIN(size / 56, UINT16_MAX) || s.nsyms > size / 24)
		return false;
	s.loads = loads = xcalloc(s.nloads + 1, sizeof(*loads));
	s.syms = syms = xcalloc(s.nsyms + 1, sizeof(*syms));
	code_head(&c, &s, loads);
	code_symbols(&c, syms, s.nsyms);
	if (has_cfi && !names && slice_ok(&c)) {
		slice_cfi(&c, &s, &eh_frame);
		s.eh_frame = eh_frame.s;
		s.eh_frame_size = eh_frame.len;
	}
	ok = slice_ok(&c) && ((names && has_cfi) || (!cursor_left(&c.from) && nibble_dec_done(dec)));
	/* At most REC_BLOCK_MAX. */
	if (ok)
		strbuf_reserve(out, size);
	if (ok)
		elf_write(&s, out);
	free_slice(&s);
	strbuf_fini(&eh_frame);
	return ok && (names ? out->len - from <= size : out->len - from == size);
}

/*
 * Do the noted symbols reproduce the file? Skips the models, which saves half the time: they pass
 * any symbols through unchanged, and contexts depend only on values read before.
 */
static bool try_slice(struct slice_enc *e, const void *elf, size_t size)
{
	strbuf_reset(&e->code);
	nibble_plain(&e->symbols, &e->code);
	nibble_dec_begin(e->dec, e->code.s, e->code.len, e->symbols.len / 4, true);
	strbuf_reset(&e->trial);
	return read_slice(e->dec, e->text.s ? e->text.s : "", e->text.len, size, false, &e->trial) &&
	       !memcmp(e->trial.s, elf, size);
}

static void put_packed(struct slice_enc *e, struct codec_enc *codec, struct strbuf *out)
{
	size_t n;

	strbuf_reset(&e->code);
	nibble_enc_reset(e->nibbles);
	nibble_enc_pack(e->nibbles, &e->symbols, &e->code);
	if (e->cap < codec_bound(e->text.len)) {
		e->cap = codec_bound(e->text.len);
		e->tmp = xrealloc(e->tmp, e->cap);
	}
	n = codec_compress(codec, e->tmp, e->cap, e->text.s, e->text.len);
	strbuf_add_varint(out, e->symbols.len / 4);
	strbuf_add_varint(out, e->code.len);
	strbuf_add_varint(out, e->text.len);
	strbuf_add(out, e->code.s, e->code.len);
	if (n && n < e->text.len)
		strbuf_add(out, e->tmp, n);
	else
		strbuf_add(out, e->text.s, e->text.len);
}

/* Frees buffers that a rare large file has grown. */
static void give_back(struct slice_enc *e)
{
	struct strbuf *all[] = { &e->symbols, &e->text, &e->code, &e->trial };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i]->cap > KEEP)
			strbuf_fini(all[i]);
	}
}

/* Is it smaller than the file, but not by so much that a reader would reject it? */
static bool fits(size_t packed, uint64_t size)
{
	return packed < size && size / GROWTH_MAX < packed;
}

bool slice_pack(struct slice_enc *e, struct codec_enc *codec, const void *elf, size_t size,
		struct strbuf *out)
{
	const size_t from = out->len;
	struct elf_slice s;
	bool ok;

	strbuf_reset(&e->symbols);
	strbuf_reset(&e->text);
	ok = slice_parse(elf, size, &s) && note_slice(e, &s);
	free_slice(&s);
	ok = ok && e->text.len <= REC_BLOCK_MAX && try_slice(e, elf, size);
	if (ok)
		put_packed(e, codec, out);
	if (ok && !fits(out->len - from, size)) {
		out->len = from;
		ok = false;
	}
	give_back(e);
	return ok;
}

/* ---- reading ---- */

struct slice_dec *slice_dec_new(void)
{
	struct slice_dec *d = xcalloc(1, sizeof(*d));

	d->nibbles = nibble_dec_new();
	d->codec = codec_dec_new();
	return d;
}

void slice_dec_free(struct slice_dec *d)
{
	if (!d)
		return;
	nibble_dec_free(d->nibbles);
	codec_dec_free(d->codec);
	free(d->text);
	free(d);
}

static int unpack(struct slice_dec *d, const void *data, size_t len, uint64_t size, bool names, struct strbuf *out)
{
	uint64_t symbols, code_len, text_len;
	const void *code, *text;
	struct cursor c;

	cursor_init(&c, data, len);
	symbols = cursor_varint(&c);
	code_len = cursor_varint(&c);
	text_len = cursor_varint(&c);
	code = cursor_bytes(&c, code_len);
	if (!code || text_len > REC_BLOCK_MAX || size > REC_BLOCK_MAX || size / GROWTH_MAX >= len)
		return -EBADMSG;
	text = (const char *)data + c.pos;
	if (cursor_left(&c) != text_len) {
		if (d->cap < text_len + 1) {
			d->cap = text_len + 1;
			d->text = xrealloc(d->text, d->cap);
		}
		if (codec_decompress(d->codec, d->text, text_len, text, cursor_left(&c)))
			return -EBADMSG;
		text = d->text;
	}
	nibble_dec_reset(d->nibbles);
	nibble_dec_begin(d->nibbles, code, code_len, symbols, false);
	return read_slice(d->nibbles, text, text_len, size, names, out) ? 0 : -EBADMSG;
}

int slice_unpack(struct slice_dec *d, const void *data, size_t len, uint64_t size, struct strbuf *out)
{
	return unpack(d, data, len, size, false, out);
}

int slice_unpack_names(struct slice_dec *d, const void *data, size_t len, uint64_t size, struct strbuf *out)
{
	return unpack(d, data, len, size, true, out);
}
