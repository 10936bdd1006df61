#include "grid/markup.h"

#include <string.h>

#include "base/escape.h"
#include "base/strbuf.h"

/* Writes @s with @special characters replaced by what @put writes. */
static void put_runs(FILE *to, const char *s, size_t len, const char *special, void (*put)(FILE *to, char c))
{
	for (size_t at = 0, n; at < len; at += n + 1) {
		n = strcspn(s + at, special);
		if (n >= len - at) {
			fwrite(s + at, 1, len - at, to);
			return;
		}
		fwrite(s + at, 1, n, to);
		put(to, s[at + n]);
	}
}

static void put_entity(FILE *to, char c)
{
	fputs(c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;", to);
}

static void put_code(FILE *to, char c)
{
	fprintf(to, "\\u%04x", (unsigned int)c);
}

/* No character of a text is forbidden in XML or HTML. */
void markup_text(FILE *to, const char *str, size_t max)
{
	struct strbuf sb = STRBUF_INIT;
	size_t shown;
	bool cut;

	escape_text(&sb, str);
	shown = escape_prefix(sb.s, max);
	cut = shown < sb.len;
	if (cut)
		shown = escape_prefix(sb.s, max > 2 ? max - 2 : 0);
	put_runs(to, sb.s, shown, "&<>\"", put_entity);
	if (cut)
		fputs("..", to);
	strbuf_fini(&sb);
}

void markup_string(FILE *to, const char *str)
{
	struct strbuf sb = STRBUF_INIT;

	escape_text(&sb, str);
	fputc('"', to);
	put_runs(to, sb.s, sb.len, "\"\\<>&", put_code);
	fputc('"', to);
	strbuf_fini(&sb);
}
