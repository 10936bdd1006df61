/* A growing byte string. Once anything was added, a NUL follows its len bytes. */
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

/* Makes room for @extra more bytes, so that adding them needs no further allocation. */
void strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_adds(struct strbuf *sb, const char *s);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* @v with @digits significant digits, like %g but never with an exponent: "0.05", "1.2", "120". */
void strbuf_add_number(struct strbuf *sb, double v, int digits);
/* ULEB128 (DWARF 5, 7.6), at most 10 bytes. */
void strbuf_add_varint(struct strbuf *sb, uint64_t v);
/* Zigzag, then ULEB128. */
void strbuf_add_svarint(struct strbuf *sb, int64_t v);
/* SLEB128 (DWARF), at most 10 bytes. */
void strbuf_add_sleb(struct strbuf *sb, int64_t v);
/* Little endian. */
void strbuf_add_u16(struct strbuf *sb, uint16_t v);
void strbuf_add_u32(struct strbuf *sb, uint32_t v);
void strbuf_add_u64(struct strbuf *sb, uint64_t v);
/* Both keep the memory. strbuf_cut() leaves the first @len bytes, at most as many as there are. */
void strbuf_reset(struct strbuf *sb);
void strbuf_cut(struct strbuf *sb, size_t len);
void strbuf_fini(struct strbuf *sb);

#endif
