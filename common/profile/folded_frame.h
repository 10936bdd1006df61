/*
 * Frames in folded text: "app;main;read_[k] 12". The writer and the reader of a frame are side by
 * side. A frame is a name (escape.h), and marks of what it is, which flamegraph.pl's tools know:
 * _[k] kernel, _[j] JIT, _[i] inlined. nsprof's own mark _[joined] comes before them.
 *
 * What readers would take for something else becomes an escape, which our reader takes back: a
 * semicolon, '#' in front, what looks like a mark but is part of the name, and in the last frame
 * the blank before a number at its end.
 */
#ifndef NSPROF_FOLDED_FRAME_H
#define NSPROF_FOLDED_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Appends a name, which is text, as a frame without marks. */
void folded_add_name(struct strbuf *out, const char *name);
/* Appends the marks of an enum profile_kind, and that of a joined frame. */
void folded_add_marks(struct strbuf *out, uint8_t kind, bool joined);
/*
 * Would flamegraph.pl take the end of this last frame of a line for a count? Its pattern is
 * /^(.*)\s+?(\d+(?:\.\d*)?)$/, and it applies it twice.
 */
bool folded_ends_in_count(const char *frame, size_t len);
/* Then: writes the blank before the number as an escape. @out ends with the frame. */
void folded_guard_count(struct strbuf *out);

/* Reads the marks at the end of a frame and cuts them off *@len. Returns the enum profile_kind. */
uint8_t folded_take_marks(const char *frame, size_t *len, bool *joined);
/* Appends the name, as text, of a frame without marks. Foreign bytes are repaired. */
void folded_read_name(struct strbuf *out, const char *frame, size_t len);

#endif
