/* A growing byte string. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* Makes room for @extra bytes and the NUL behind them. */
static void reserve(struct strbuf *sb, size_t extra)
{
	size_t need = sb->len + extra + 1;
	size_t cap = sb->cap ? sb->cap : 64;

	if (need <= sb->cap)
		return;
	while (cap < need)
		cap *= 2;
	sb->s = xrealloc(sb->s, cap);
	sb->cap = cap;
}

void strbuf_reserve(struct strbuf *sb, size_t extra)
{
	reserve(sb, extra);
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	reserve(sb, len);
	if (len)
		memcpy(sb->s + sb->len, data, len);
	sb->len += len;
	sb->s[sb->len] = '\0';
}

void strbuf_addc(struct strbuf *sb, char c)
{
	reserve(sb, 1);
	sb->s[sb->len++] = c;
	sb->s[sb->len] = '\0';
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	reserve(sb, 0);
	n = vsnprintf(sb->s + sb->len, sb->cap - sb->len, fmt, ap);
	va_end(ap);
	/*
	 * vsnprintf() returns the full length even if the text did not fit. The second call has
	 * enough room.
	 */
	if (n > 0 && (size_t)n >= sb->cap - sb->len) {
		reserve(sb, (size_t)n);
		n = vsnprintf(sb->s + sb->len, sb->cap - sb->len, fmt, again);
	}
	va_end(again);
	if (n > 0)
		sb->len += (size_t)n;
	sb->s[sb->len] = '\0';
}

void strbuf_add_number(struct strbuf *sb, double v, int digits)
{
	char text[64], *e;
	int decimals;

	snprintf(text, sizeof(text), "%.*e", digits - 1, v);
	e = strchr(text, 'e');
	if (!e) {	/* inf or nan */
		strbuf_adds(sb, text);
		return;
	}
	decimals = digits - 1 - atoi(e + 1);
	strbuf_addf(sb, "%.*f", decimals > 0 ? decimals : 0, v);
	while (decimals > 0 && sb->s[sb->len - 1] == '0') {
		sb->len--;
		decimals--;
	}
	if (decimals == 0 && sb->s[sb->len - 1] == '.')
		sb->len--;
	sb->s[sb->len] = '\0';
}

void strbuf_add_varint(struct strbuf *sb, uint64_t v)
{
	reserve(sb, 10);
	while (v >= 0x80) {
		sb->s[sb->len++] = (char)(0x80 | (v & 0x7f));
		v >>= 7;
	}
	sb->s[sb->len++] = (char)v;
	sb->s[sb->len] = '\0';
}

/* Zigzag maps 0, -1, 1, -2 to 0, 1, 2, 3, so that small numbers of either sign stay short. */
void strbuf_add_svarint(struct strbuf *sb, int64_t v)
{
	uint64_t sign = v < 0 ? UINT64_MAX : 0;

	strbuf_add_varint(sb, ((uint64_t)v << 1) ^ sign);
}

void strbuf_add_sleb(struct strbuf *sb, int64_t v)
{
	uint8_t b;

	do {
		b = v & 0x7f;
		v >>= 7;
		if ((v != 0 || (b & 0x40)) && (v != -1 || !(b & 0x40)))
			b |= 0x80;
		strbuf_addc(sb, (char)b);
	} while (b & 0x80);
}

static void add_le(struct strbuf *sb, uint64_t v, unsigned int bytes)
{
	reserve(sb, bytes);
	for (; bytes; bytes--, v >>= 8)
		sb->s[sb->len++] = (char)(v & 0xff);
	sb->s[sb->len] = '\0';
}

void strbuf_add_u16(struct strbuf *sb, uint16_t v)
{
	add_le(sb, v, 2);
}

void strbuf_add_u32(struct strbuf *sb, uint32_t v)
{
	add_le(sb, v, 4);
}

void strbuf_add_u64(struct strbuf *sb, uint64_t v)
{
	add_le(sb, v, 8);
}

void strbuf_reset(struct strbuf *sb)
{
	strbuf_cut(sb, 0);
}

void strbuf_cut(struct strbuf *sb, size_t len)
{
	sb->len = len;
	if (sb->s)
		sb->s[len] = '\0';
}

void strbuf_fini(struct strbuf *sb)
{
	free(sb->s);
	*sb = (struct strbuf)STRBUF_INIT;
}
