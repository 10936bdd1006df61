/* Text of any bytes as part of a page or a picture: it stays text, whatever it holds. */
#ifndef NSPROF_MARKUP_H
#define NSPROF_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Text that XML 1.0 (2.2, 2.4) and HTML accept, in attributes with double quotes too: markup escaped, forbidden control
 * characters and invalid UTF-8 as U+FFFD. At most @max characters, cut with "..". Errors show in the stream's flag.
 */
void markup_text(FILE *to, const char *str, size_t max);
/*
 * A string of JavaScript or JSON with its quotes. Markup is escaped, so that it cannot end a script element, a comment or
 * a CDATA section. Invalid UTF-8 as U+FFFD.
 */
void markup_string(FILE *to, const char *str);

#endif
