#include "base/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/unicode.h"
#include "base/util.h"

#define PIECE_MAX 16	/* bytes: "\u{10ffff}" */
/* More marks on one character are drawn across the lines above and below. */
#define MARKS_MAX 4

enum blanks { BLANKS_STAY, BLANKS_INSIDE, BLANKS_NONE };

/* What is being escaped, and how far. */
struct scan {
	const char *s;
	size_t len, at;
	bool text;		/* escapes that are there stay */
	enum blanks blanks;
	unsigned int marks;	/* on the last character; MARKS_MAX: it takes none */
};

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Length of the escape at @s, or 0. */
static size_t escape_len(const char *s, size_t left)
{
	size_t n = 3;

	if (left < 5 || s[0] != '\\' || (s[1] != 'u' && s[1] != 'x') || s[2] != '{')
		return 0;
	while (n < left && n < 9 && is_hex(s[n]))
		n++;
	return n > 3 && n < left && s[n] == '}' && (s[1] == 'u' || n == 5) ? n + 1 : 0;
}

/* The number of bytes at @s that are text, whatever is around them. */
static size_t plain_len(const char *s, size_t left)
{
	size_t n = 0;

	while (n < left && s[n] > ' ' && s[n] < 0x7f && s[n] != '\\')
		n++;
	return n;
}

static bool blank_stays(const struct scan *sc)
{
	if (sc->blanks == BLANKS_INSIDE)
		return sc->at && sc->at + 1 < sc->len && sc->s[sc->at - 1] != ' ';
	return sc->blanks == BLANKS_STAY;
}

/* Does a character that is neither hidden nor a backslash stay as it is? */
static bool stays(struct scan *sc, uint32_t cp)
{
	if (unicode_mark(cp))
		return sc->marks++ < MARKS_MAX;
	sc->marks = 0;
	return cp != ' ' || blank_stays(sc);
}

/*
 * Takes the next character. Returns the bytes it becomes and their number in *@n: of the input
 * itself, or @piece.
 */
static const char *next_piece(struct scan *sc, char piece[PIECE_MAX], size_t *n)
{
	const char *s = sc->s + sc->at;
	const size_t left = sc->len - sc->at;
	uint32_t cp;
	size_t len;

	if (*s == '\\' && (len = escape_len(s, left))) {
		sc->marks = MARKS_MAX;
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
	sc->marks = MARKS_MAX;
	sc->at += len ? len : 1;
	if (len)
		*n = (size_t)snprintf(piece, PIECE_MAX, "\\u{%" PRIx32 "}", cp);
	else
		*n = (size_t)snprintf(piece, PIECE_MAX, "\\x{%02x}", (unsigned char)*s);
	return piece;
}

static void escape(struct strbuf *out, struct scan *sc)
{
	char piece[PIECE_MAX];

	sc->marks = MARKS_MAX;
	/* So that the result is never NULL. */
	strbuf_reserve(out, sc->len);
	strbuf_add(out, "", 0);
	while (sc->at < sc->len) {
		size_t n = plain_len(sc->s + sc->at, sc->len - sc->at);
		const char *from;

		if (n) {	/* by far the most common case */
			strbuf_add(out, sc->s + sc->at, n);
			sc->at += n;
			sc->marks = 0;
			continue;
		}
		from = next_piece(sc, piece, &n);
		strbuf_add(out, from, n);
	}
}

void escape_bytes(struct strbuf *out, const char *s)
{
	escape(out, &(struct scan){ .s = s, .len = strlen(s) });
}

void escape_name(struct strbuf *out, const char *s)
{
	escape(out, &(struct scan){ .s = s, .len = strlen(s), .blanks = BLANKS_INSIDE });
}

void escape_word(struct strbuf *out, const char *s)
{
	escape(out, &(struct scan){ .s = s, .len = strlen(s), .blanks = BLANKS_NONE });
}

void escape_text(struct strbuf *out, const char *s)
{
	escape(out, &(struct scan){ .s = s, .len = strlen(s), .text = true });
}

bool escape_is_text(const char *s, size_t len)
{
	struct scan sc = { .s = s, .len = len, .text = true, .marks = MARKS_MAX };
	char piece[PIECE_MAX];

	while (sc.at < sc.len) {
		size_t n = plain_len(sc.s + sc.at, sc.len - sc.at);

		sc.at += n;
		sc.marks = n ? 0 : sc.marks;
		if (!n && next_piece(&sc, piece, &n) == piece)
			return false;
	}
	return true;
}

size_t escape_into(char *out, size_t size, const char *s, size_t *len)
{
	struct scan sc = { .s = s, .len = *len, .text = true, .marks = MARKS_MAX };
	char piece[PIECE_MAX];
	size_t at = 0, n;

	for (*len = 0; sc.at < sc.len; *len = sc.at) {
		const char *from = next_piece(&sc, piece, &n);

		if (n > size - at)
			break;
		memcpy(out + at, from, n);
		at += n;
	}
	return at;
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
