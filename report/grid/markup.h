/* Writes text of any bytes into a page or a picture so that it stays text, whatever it contains. */
#ifndef NSPROF_MARKUP_H
#define NSPROF_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Text that XML 1.0 (2.2, 2.4) and HTML accept, also in double-quoted attributes. Escapes markup;
 * forbidden control characters and invalid UTF-8 become U+FFFD. Writes at most @max characters and
 * marks a cut with "..". Errors are left in the stream's error flag.
 */
void markup_text(FILE *to, const char *str, size_t max);
/*
 * A JavaScript or JSON string with its quotes. Escapes markup, so that it cannot end a script
 * element, a comment or a CDATA section. Invalid UTF-8 becomes U+FFFD.
 */
void markup_string(FILE *to, const char *str);

#endif
