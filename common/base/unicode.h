/* UTF-8, and how characters look on a terminal and in a browser. */
#ifndef NSPROF_UNICODE_H
#define NSPROF_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length of the UTF-8 character at @s, of which @left bytes are there; *@cp is its code point. 0: it
 * is not well-formed (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
 * U+10FFFF).
 */
size_t utf8_char(const char *s, size_t left, uint32_t *cp);

/* @len without a character at the end of @s that was cut in two. */
size_t utf8_whole(const char *s, size_t len);

/*
 * Must a reader never meet this character as it is? It steers a terminal (C0, DEL, C1), reorders
 * the text around it (bidirectional controls), cannot be seen (Unicode's Default_Ignorable, among
 * them zero-width joiners, soft hyphens, tags and variation selectors), looks like a blank or ends
 * a line (white space except U+0020), or is no character at all.
 */
bool unicode_hidden(uint32_t cp);
/* Is it drawn onto the character before it? */
bool unicode_mark(uint32_t cp);
/* Columns on a terminal: 0, 1 or 2 (Unicode Standard Annex 11). @cp is not hidden. */
unsigned int unicode_width(uint32_t cp);

#endif
