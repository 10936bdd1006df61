/* Binaries with inlined functions that only some of the profiles know. */
#ifndef NSPROF_DIFF_INLINES_H
#define NSPROF_DIFF_INLINES_H

#include <stddef.h>

struct profile;
struct strbuf;

/*
 * A recording carries no inlined functions: those of a binary that was gone when it was read are not known. Where that is so in one
 * of the @n profiles and not in another one, every function that was inlined there would seem to be new. They are left out of all
 * profiles then: their samples count for the functions that they are inlined into. A profile that changes is replaced in @profiles.
 * A line for each such binary goes to @notes.
 */
void diff_inlines(struct profile **profiles, size_t n, struct strbuf *notes);

#endif
