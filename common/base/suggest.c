/*
 * Finds the nearest words by optimal string alignment distance: a letter left out, added or
 * replaced, or two neighbours swapped, cost one each (Damerau, "A technique for computer detection
 * and correction of spelling errors", 1964). A word that begins with the given text counts as
 * distance one, however long it is.
 */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define WORD_MAX 32	/* longer words are compared by their first bytes only */

void suggest_init(struct suggest *s, const char *given, size_t len)
{
	*s = (struct suggest){ .given = given, .len = len };
}

static unsigned int distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int rows[3][WORD_MAX + 1], *older = rows[0], *above = rows[1], *row = rows[2], *spare;

	for (size_t j = 0; j <= nb; j++)
		above[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned int change = above[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = MIN(change, MIN(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], older[j - 2] + 1);
		}
		spare = older;
		older = above;
		above = row;
		row = spare;
	}
	return above[nb];
}

/*
 * Slips allowed in a word of @len bytes: about one per three letters, so that a short word does not
 * match every other one.
 */
static unsigned int allowed(size_t len)
{
	return len < 3 ? 0 : len < 5 ? 1 : (unsigned int)len / 3;
}

void suggest_offer(struct suggest *s, const char *name)
{
	size_t given = MIN(s->len, (size_t)WORD_MAX), len = MIN(strlen(name), (size_t)WORD_MAX);
	unsigned int d;

	if (!given)
		return;
	d = distance(s->given, given, name, len);
	if (d > 1 && given > 1 && !strncmp(name, s->given, given))
		d = 1;
	else if (d > allowed(MAX(given, len)))
		return;
	if (s->n && d > s->distance)
		return;
	if (d < s->distance)
		s->n = 0;
	for (size_t i = 0; i < MIN(s->n, (size_t)SUGGEST_MAX); i++)
		if (!strcmp(s->best[i], name))
			return;
	s->distance = d;
	if (s->n < SUGGEST_MAX)
		s->best[s->n] = name;
	s->n++;
}

const char *suggest_text(const struct suggest *s, const char *lead, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	if (!s->n || s->n > SUGGEST_MAX)
		return buf;
	for (size_t i = 0; i < s->n && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s'",
					!i ? " Did you mean '" : i + 1 < s->n ? ", '" : " or '", lead, s->best[i]);
	if (len < size)
		snprintf(buf + len, size - len, "?");
	return buf;
}
