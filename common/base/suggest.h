/* Suggests known words for an unknown one: "Did you mean 'report'?" */
#ifndef NSPROF_SUGGEST_H
#define NSPROF_SUGGEST_H

#include <stddef.h>

#define SUGGEST_MAX 3	/* equally near words; a longer list does not help */

struct suggest {
	const char *given;	/* borrowed, @len bytes */
	size_t len;
	const char *best[SUGGEST_MAX];	/* borrowed, in the order of the offers */
	size_t n;	/* how many are equally near; may exceed SUGGEST_MAX */
	unsigned int distance;	/* of each of them */
};

void suggest_init(struct suggest *s, const char *given, size_t len);
/* @name (borrowed as long as @s is used) is a valid word. Offering a word twice has no effect. */
void suggest_offer(struct suggest *s, const char *name);
/*
 * " Did you mean 'report'?", with @lead ("--") before each word, or "" if no word is near enough.
 * The text is in @buf, which is returned.
 */
const char *suggest_text(const struct suggest *s, const char *lead, char *buf, size_t size);

#endif
