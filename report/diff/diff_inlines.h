/* Handles binaries with inlined functions that only some of the profiles know. */
#ifndef NSPROF_DIFF_INLINES_H
#define NSPROF_DIFF_INLINES_H

#include <stddef.h>

struct profile;
struct strbuf;

/*
 * A recording carries no inlined functions: if a binary was gone when the recording was read, its
 * inlined functions are unknown. If one of the @n profiles lacks them and another has them, every
 * function inlined there would seem new. This function then removes them from all profiles; their
 * samples count for the functions that they are inlined into. It replaces changed profiles in
 * @profiles and appends a line per such binary to @notes.
 */
void diff_inlines(struct profile **profiles, size_t n, struct strbuf *notes);

#endif
