/* A comparison as a page: both sides and what changed between them. */
#ifndef NSPROF_DIFF_PAGE_H
#define NSPROF_DIFF_PAGE_H

#include <stdio.h>

#include "diff/diff.h"

/* Of the inputs that @d was made of. */
void diff_write_html(const struct diff_input *in, size_t n, const struct diff *d, const char *title, FILE *to);

#endif
