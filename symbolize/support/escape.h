/*
 * Text that is safe as a frame of a folded stack. A frame's text comes from binaries, from perf
 * maps inside containers and from prctl(PR_SET_NAME): anybody's bytes.
 */
#ifndef NSPROF_ESCAPE_H
#define NSPROF_ESCAPE_H

#include <stddef.h>

#include "base/strbuf.h"

/*
 * Replaces the contents of @out by @len bytes of @s made clean: ';' becomes ':', white space one
 * plain blank each, other control characters '?', bytes that are not UTF-8 U+FFFD each; blanks at
 * both ends go; nothing at all becomes "?"; a '#' in front, which would make a comment of the line,
 * becomes '_'. A blank before a number at the very end becomes '_', or flamegraph.pl would take
 * that number for a count (its line pattern is applied twice). Blanks and parentheses inside stay.
 */
void escape_frame(struct strbuf *out, const char *s, size_t len);

#endif
