#include "grid/markdown.h"

#include "base/escape.h"

void markdown_code(struct strbuf *out, const char *text, bool cell)
{
	struct strbuf sb = STRBUF_INIT;

	escape_text(&sb, text);
	strbuf_adds(out, "`` ");
	for (const char *s = sb.s; *s; s++) {
		if (*s == '`') {
			strbuf_adds(out, "\\u{60}");
			continue;
		}
		if (cell && *s == '|')
			strbuf_addc(out, '\\');
		strbuf_addc(out, *s);
	}
	strbuf_adds(out, " ``");
	strbuf_fini(&sb);
}
