/* A comparison as an HTML page: both sides and the changes between them. */
#ifndef NSPROF_DIFF_PAGE_H
#define NSPROF_DIFF_PAGE_H

#include <stdio.h>

#include "diff/diff.h"

/* @in: the inputs of diff_new(), which made @d. */
void diff_write_html(const struct diff_input *in, size_t n, const struct diff *d, const char *title, FILE *to);

#endif
