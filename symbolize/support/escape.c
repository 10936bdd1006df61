/*
 * Cleans frame names (escape.h) of everything that flamegraph.pl, inferno, speedscope or Firefox
 * would choke on.
 */
#include "support/escape.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Length of the UTF-8 character at @s, or 0 if it is not valid (Unicode 15, table 3-7: no overlong
 * forms, no surrogates, nothing above U+10FFFF). *@cp is the code point.
 */
static size_t utf8_char(const uint8_t *s, size_t left, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len, i;

	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || len > left)
		return 0;
	*cp = s[0] & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	if (*cp < least[len] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return len;
}

/* Does \s match it in a pattern on decoded text? The Unicode property White_Space. */
static bool is_space(uint32_t cp)
{
	return (cp >= 0x09 && cp <= 0x0d) || cp == 0x20 || cp == 0x85 || cp == 0xa0 ||
	       cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 ||
	       cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Replaces the blank before " 12", " 1." or " 1.5" at the end. flamegraph.pl:
 * /^(.*)\s+?(\d+(?:\.\d*)?)$/.
 */
static void guard_count(struct strbuf *sb)
{
	size_t i = sb->len;

	while (i && is_digit(sb->s[i - 1]))
		i--;
	if (i && sb->s[i - 1] == '.') {
		i--;
		while (i && is_digit(sb->s[i - 1]))
			i--;
		if (sb->s[i] == '.')	/* no digit before the point */
			return;
	}
	if (i && i < sb->len && sb->s[i - 1] == ' ')
		sb->s[i - 1] = '_';
}

/* The number of bytes at @s, at most @left, that need no escaping. */
static size_t plain_bytes(const uint8_t *s, size_t left)
{
	size_t n = 0;

	while (n < left && s[n] > ' ' && s[n] < 0x7f && s[n] != ';')
		n++;
	return n;
}

void escape_frame(struct strbuf *out, const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	size_t pos = 0;

	strbuf_reset(out);
	while (pos < len) {
		uint32_t cp = 0;
		size_t n = plain_bytes(p + pos, len - pos);

		if (n) {	/* by far the most common case */
			strbuf_add(out, p + pos, n);
			pos += n;
			continue;
		}
		n = utf8_char(p + pos, len - pos, &cp);
		if (!n) {
			strbuf_adds(out, "\xef\xbf\xbd");
			n = 1;
		} else if (is_space(cp)) {
			if (out->len)	/* none at the beginning */
				strbuf_addc(out, ' ');
		} else if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
			strbuf_addc(out, '?');
		} else if (cp == ';') {
			strbuf_addc(out, ':');
		} else {
			strbuf_add(out, p + pos, n);
		}
		pos += n;
	}
	while (out->len && out->s[out->len - 1] == ' ')
		out->s[--out->len] = '\0';
	if (!out->len)
		strbuf_addc(out, '?');
	if (out->s[0] == '#')
		out->s[0] = '_';
	guard_count(out);
}
