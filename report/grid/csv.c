#include "grid/csv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"
#include "base/strbuf.h"
#include "base/unicode.h"

/* What a formula begins with, also in the full width of East Asian fonts. */
static size_t formula_char(const char *s, uint32_t *cp)
{
	size_t len = utf8_char(s, strlen(s), cp);

	switch (len ? *cp : 0) {
	case '=':
	case '+':
	case '-':
	case '@':
	case 0xff1d:
	case 0xff0b:
	case 0xff0d:
	case 0xff20:
		return len;
	default:
		return 0;
	}
}

static void add_guarded(struct strbuf *out, const char *text)
{
	uint32_t cp;
	size_t len = formula_char(text, &cp);

	if (len)
		strbuf_addf(out, "\\u{%" PRIx32 "}", cp);
	escape_text(out, text + len);
}

void csv_guarded(const char *text, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	add_guarded(&sb, text);
	fwrite(sb.s, 1, sb.len, to);
	strbuf_fini(&sb);
}

static void put_cell(const char *text, bool quoted, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	add_guarded(&sb, text);
	quoted = quoted || sb.s[strcspn(sb.s, "\",")];
	fputs(quoted ? "\"" : "", to);
	for (const char *s = sb.s; *s; s++) {
		if (*s == '"')
			fputc('"', to);
		fputc(*s, to);
	}
	fputs(quoted ? "\"" : "", to);
	strbuf_fini(&sb);
}

void csv_text(const char *text, FILE *to)
{
	put_cell(text, false, to);
}

void csv_quoted(const char *text, FILE *to)
{
	put_cell(text, true, to);
}
