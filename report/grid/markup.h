/* Writes text of any bytes into a page or a picture so that it stays text, whatever it contains. */
#ifndef NSPROF_MARKUP_H
#define NSPROF_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Text that XML 1.0 (2.2, 2.4) and HTML accept, also in double-quoted attributes. Escapes markup, and
 * as escape_text() does what nobody could see. Writes at most @max columns and marks a cut with
 * "..". Errors are left in the stream's error flag.
 */
void markup_text(FILE *to, const char *str, size_t max);
/*
 * A JavaScript or JSON string with its quotes, whose value is escape_text()'s. Escapes markup, so
 * that it cannot end a script element, a comment or a CDATA section.
 */
void markup_string(FILE *to, const char *str);

#endif
