/* Pieces of an option's text: words and numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "evlist/evlist_priv.h"

bool piece_is(struct piece p, const char *word)
{
	return p.len == strlen(word) && !memcmp(p.s, word, p.len);
}

static int number(struct piece text, int base, uint64_t *v)
{
	char buf[32], *end;

	if (!text.len || text.len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text.s, text.len);
	buf[text.len] = '\0';
	/* strtoull(3) also takes blanks and signs. */
	if (strspn(buf, "0123456789abcdefABCDEFx") != text.len)
		return -EINVAL;
	errno = 0;
	*v = strtoull(buf, &end, base);
	return *end || errno ? -EINVAL : 0;
}

int event_number(struct piece text, uint64_t *v)
{
	const bool hex = text.len > 2 && text.s[0] == '0' && (text.s[1] == 'x' || text.s[1] == 'X');

	return number(text, hex ? 16 : 10, v);
}

int event_hex(struct piece text, uint64_t *v)
{
	if (memchr(text.s, 'x', text.len))
		return -EINVAL;
	return number(text, 16, v);
}
