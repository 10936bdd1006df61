/* Can two profiles be compared? */
#ifndef NSPROF_DIFF_COMPARABLE_H
#define NSPROF_DIFF_COMPARABLE_H

#include <stddef.h>

#include "diff/diff.h"

struct strbuf;

/*
 * Checks how the profiles were taken: events, stacks, losses, truncated stacks. Appends to @why
 * what forbids a comparison and to @notes what readers should know, one per line. Returns the
 * number of lines in @why.
 */
size_t diff_fit(const struct diff_input *in, size_t n, const struct diff_opts *opts, struct strbuf *why, struct strbuf *notes);

#endif
