#include "base/escape.h"

#include <string.h>

#include "base/escape_scan.h"
#include "base/unicode.h"

static void escape(struct strbuf *out, struct escape_scan *sc)
{
	char piece[ESCAPE_PIECE_MAX];

	sc->marks = ESCAPE_MARKS_MAX;
	/* So that the result is never NULL. */
	strbuf_reserve(out, sc->len);
	strbuf_add(out, "", 0);
	while (sc->at < sc->len) {
		size_t n = escape_plain_len(sc->s + sc->at, sc->len - sc->at);
		const char *from;

		if (n) {	/* by far the most common case */
			strbuf_add(out, sc->s + sc->at, n);
			sc->at += n;
			sc->marks = 0;
			continue;
		}
		from = escape_next(sc, piece, &n);
		strbuf_add(out, from, n);
	}
}

void escape_bytes(struct strbuf *out, const char *s)
{
	escape(out, &(struct escape_scan){ .s = s, .len = strlen(s) });
}

void escape_name(struct strbuf *out, const char *s)
{
	escape(out, &(struct escape_scan){ .s = s, .len = strlen(s), .blanks = BLANKS_INSIDE });
}

void escape_word(struct strbuf *out, const char *s)
{
	escape(out, &(struct escape_scan){ .s = s, .len = strlen(s), .blanks = BLANKS_NONE });
}

void escape_text(struct strbuf *out, const char *s)
{
	escape(out, &(struct escape_scan){ .s = s, .len = strlen(s), .text = true });
}

bool escape_is_text(const char *s, size_t len)
{
	struct escape_scan sc = { .s = s, .len = len, .text = true, .marks = ESCAPE_MARKS_MAX };
	char piece[ESCAPE_PIECE_MAX];

	while (sc.at < sc.len) {
		size_t n = escape_plain_len(sc.s + sc.at, sc.len - sc.at);

		sc.at += n;
		sc.marks = n ? 0 : sc.marks;
		if (!n && escape_next(&sc, piece, &n) == piece)
			return false;
	}
	return true;
}

size_t escape_width(const char *text)
{
	size_t left = strlen(text), width = 0, len;
	uint32_t cp;

	for (; left; text += len, left -= len) {
		len = utf8_char(text, left, &cp);
		width += len ? unicode_width(cp) : 1;
		len = len ? len : 1;
	}
	return width;
}

size_t escape_prefix(const char *text, size_t columns)
{
	size_t left = strlen(text), at = 0;

	while (left) {
		size_t len = escape_len(text + at, left), width = len;
		uint32_t cp;

		if (!len) {
			len = utf8_char(text + at, left, &cp);
			width = len ? unicode_width(cp) : 1;
			len = len ? len : 1;
		}
		if (width > columns)
			break;
		columns -= width;
		at += len;
		left -= len;
	}
	return at;
}
