/*
 * Names as text. Paths, symbols and the names of threads and containers are chosen by whoever runs
 * in a container and may hold any bytes. As text, a name is what a person reads: valid UTF-8 that
 * neither steers a terminal nor hides anything (unicode_hidden()), on one line. Everything else is
 * written as an escape:
 *
 *	\u{202e}	a character, by its code point in hexadecimal, without leading zeros
 *	\x{9b}		a byte that belongs to no valid UTF-8
 *
 * A backslash stays, as in "App\Http" and systemd's "dev\x2dsda", unless the name itself holds what
 * looks like such an escape: then it is \u{5c}. So no two names become the same text. Formats with
 * rules of their own (folded text, CSV, JSON, markup, Markdown) add to the text what they need.
 */
#ifndef NSPROF_ESCAPE_H
#define NSPROF_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Appends any bytes as text. Blanks stay as they are. */
void escape_bytes(struct strbuf *out, const char *s);
/*
 * The same for a name: what only spacing tells apart stays apart. Blanks at either end, and those
 * behind another blank, become \u{20}.
 */
void escape_name(struct strbuf *out, const char *s);
/* The same for a name in a column that ends at the next blank: each blank becomes \u{20}. */
void escape_word(struct strbuf *out, const char *s);
/*
 * Appends what should be text already, and repairs what is not: bytes from a file that others
 * wrote, or a message with names in it. Escapes that are there stay, so text is never escaped
 * twice.
 */
void escape_text(struct strbuf *out, const char *s);
/* Would escape_text() leave these @len bytes as they are? */
bool escape_is_text(const char *s, size_t len);
/*
 * escape_text() of *@len bytes into @out of @size bytes, as far as it fits: *@len becomes what was
 * taken. No character and no escape is cut in two. Returns the length, without a NUL. Does not
 * allocate.
 */
size_t escape_into(char *out, size_t size, const char *s, size_t *len);

/* Columns that a text takes on a terminal. */
size_t escape_width(const char *text);
/* Bytes of the longest beginning of a text that takes at most @columns and cuts no escape in two. */
size_t escape_prefix(const char *text, size_t columns);

#endif
