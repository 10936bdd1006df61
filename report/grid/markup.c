#include "grid/markup.h"

#include <string.h>

/* Length of the valid UTF-8 sequence at @s (RFC 3629), or 0. */
static unsigned int utf8_len(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf && (s[1] & 0xc0) == 0x80)
		return 2;
	if ((s[0] & 0xf0) == 0xe0 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80) {
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4 && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 && (s[3] & 0xc0) == 0x80) {
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

void markup_text(FILE *to, const char *str, size_t max)
{
	const unsigned char *s = (const unsigned char *)str, *p;
	size_t n = 0, total = 0;
	unsigned int len;

	for (p = s; *p; p += (len = utf8_len(p)) ? len : 1)
		total++;
	for (; *s; s += len ? len : 1) {
		len = utf8_len(s);
		if (total > max && n + 2 >= max) {
			fputs("..", to);
			return;
		}
		n++;
		if (*s == '&')
			fputs("&amp;", to);
		else if (*s == '<')
			fputs("&lt;", to);
		else if (*s == '>')
			fputs("&gt;", to);
		else if (*s == '"')
			fputs("&quot;", to);
		else if (!len || *s < 0x20 || *s == 0x7f ||
			 (len == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe))
			fputs("\xef\xbf\xbd", to);
		else
			fwrite(s, 1, len, to);
	}
}

void markup_string(FILE *to, const char *str)
{
	const unsigned char *s = (const unsigned char *)str;
	unsigned int len;

	fputc('"', to);
	for (; *s; s += len ? len : 1) {
		len = utf8_len(s);
		if (!len || (len == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe))
			fputs("\\ufffd", to);
		else if (len == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
			/* line terminators before ECMAScript 2019 */
			fprintf(to, "\\u20%02x", s[2] - 0x80);
		else if (len == 1 && (*s < 0x20 || *s == 0x7f || strchr("\"\\<>&", *s)))
			fprintf(to, "\\u%04x", *s);
		else
			fwrite(s, 1, len, to);
	}
	fputc('"', to);
}
