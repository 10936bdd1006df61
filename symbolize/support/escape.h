/*
 * Makes text safe as a frame of a folded stack. Frame names come from binaries, from perf maps
 * inside containers and from prctl(PR_SET_NAME), so they can hold any bytes.
 */
#ifndef NSPROF_ESCAPE_H
#define NSPROF_ESCAPE_H

#include <stddef.h>

#include "base/strbuf.h"

/*
 * Replaces the contents of @out with a clean copy of the @len bytes at @s. ';' becomes ':', each
 * white-space character becomes a blank, each other control character '?', and each byte that is
 * not UTF-8 becomes U+FFFD. Blanks at both ends are removed. An empty result becomes "?". A '#' in
 * front becomes '_', or the line would be a comment. A blank before a number at the very end
 * becomes '_', or flamegraph.pl would take that number for a count (it applies its line pattern
 * twice). Blanks and parentheses inside stay.
 */
void escape_frame(struct strbuf *out, const char *s, size_t len);

#endif
