#include "base/escape_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/unicode.h"

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

size_t escape_len(const char *s, size_t left)
{
	size_t n = 3;

	if (left < 5 || s[0] != '\\' || (s[1] != 'u' && s[1] != 'x') || s[2] != '{')
		return 0;
	while (n < left && n < 9 && is_hex(s[n]))
		n++;
	return n > 3 && n < left && s[n] == '}' && (s[1] == 'u' || n == 5) ? n + 1 : 0;
}

size_t escape_plain_len(const char *s, size_t left)
{
	size_t n = 0;

	while (n < left && s[n] > ' ' && s[n] < 0x7f && s[n] != '\\')
		n++;
	return n;
}

static bool blank_stays(const struct escape_scan *sc)
{
	if (sc->blanks == BLANKS_INSIDE)
		return sc->at && sc->at + 1 < sc->len && sc->s[sc->at - 1] != ' ';
	return sc->blanks == BLANKS_STAY;
}

/* Does a character that is neither hidden nor a backslash stay as it is? */
static bool stays(struct escape_scan *sc, uint32_t cp)
{
	if (unicode_mark(cp))
		return sc->marks++ < ESCAPE_MARKS_MAX;
	sc->marks = 0;
	return cp != ' ' || blank_stays(sc);
}

const char *escape_next(struct escape_scan *sc, char piece[ESCAPE_PIECE_MAX], size_t *n)
{
	const char *s = sc->s + sc->at;
	const size_t left = sc->len - sc->at;
	uint32_t cp;
	size_t len;

	if (*s == '\\' && (len = escape_len(s, left))) {
		sc->marks = ESCAPE_MARKS_MAX;
		sc->at += sc->text ? len : 1;
		*n = sc->text ? len : 6;
		return sc->text ? s : "\\u{5c}";
	}
	len = utf8_char(s, left, &cp);
	if (len && !unicode_hidden(cp) && stays(sc, cp)) {
		sc->at += len;
		*n = len;
		return s;
	}
	sc->marks = ESCAPE_MARKS_MAX;
	sc->at += len ? len : 1;
	if (len)
		*n = (size_t)snprintf(piece, ESCAPE_PIECE_MAX, "\\u{%" PRIx32 "}", cp);
	else
		*n = (size_t)snprintf(piece, ESCAPE_PIECE_MAX, "\\x{%02x}", (unsigned char)*s);
	return piece;
}

size_t escape_into(char *out, size_t size, const char *s, size_t *len)
{
	struct escape_scan sc = { .s = s, .len = *len, .text = true, .marks = ESCAPE_MARKS_MAX };
	char piece[ESCAPE_PIECE_MAX];
	size_t at = 0, n;

	for (*len = 0; sc.at < sc.len; *len = sc.at) {
		const char *from = escape_next(&sc, piece, &n);

		if (n > size - at)
			break;
		memcpy(out + at, from, n);
		at += n;
	}
	return at;
}
