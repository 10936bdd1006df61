/* A growing byte string; always NUL-terminated behind len once anything was added. */
#ifndef NSPROF_STRBUF_H
#define NSPROF_STRBUF_H

#include <stddef.h>
#include <stdint.h>

struct strbuf {
	char *s;	/* owned; NULL while empty */
	size_t len;	/* bytes, without the NUL */
	size_t cap;
};

#define STRBUF_INIT { NULL, 0, 0 }

/* Room for @extra bytes more, so that what is added needs no other memory meanwhile. */
void strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* @v to so many significant @digits, as %g has it, but never with an exponent: "0.05", "1.2", "120". */
void strbuf_add_number(struct strbuf *sb, double v, int digits);
/* Text from elsewhere, for a terminal: '?' for what could steer one (C0 and DEL, and C1 as UTF-8). */
void strbuf_add_clean(struct strbuf *sb, const char *s);
/* ULEB128 (DWARF 5, 7.6), at most 10 bytes. */
void strbuf_add_varint(struct strbuf *sb, uint64_t v);
/* Zigzag, then ULEB128. */
void strbuf_add_svarint(struct strbuf *sb, int64_t v);
/* SLEB128, as DWARF has it, at most 10 bytes. */
void strbuf_add_sleb(struct strbuf *sb, int64_t v);
/* Little endian. */
void strbuf_add_u16(struct strbuf *sb, uint16_t v);
void strbuf_add_u32(struct strbuf *sb, uint32_t v);
void strbuf_add_u64(struct strbuf *sb, uint64_t v);
/* Keeps the memory. */
void strbuf_reset(struct strbuf *sb);
void strbuf_fini(struct strbuf *sb);

#endif
