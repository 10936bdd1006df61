/* May two profiles be compared at all? */
#ifndef NSPROF_DIFF_COMPARABLE_H
#define NSPROF_DIFF_COMPARABLE_H

#include <stddef.h>

#include "diff/diff.h"

struct strbuf;

/*
 * Looks at what the profiles say of how they were taken: events, stacks, losses, truncated stacks. What forbids a comparison goes to @why,
 * what its reader should know to @notes, one a line. Returns the number of lines in @why.
 */
size_t diff_fit(const struct diff_input *in, size_t n, const struct diff_opts *opts, struct strbuf *why, struct strbuf *notes);

#endif
