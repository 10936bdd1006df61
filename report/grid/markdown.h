/* Names in Markdown (CommonMark, and the tables of GitHub and GitLab). */
#ifndef NSPROF_MARKDOWN_H
#define NSPROF_MARKDOWN_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Appends a text as code, where only a backtick has a meaning: it becomes an escape (escape.h).
 * Elsewhere "<init>" would be a tag and vanish, "*" would emphasize, and a name could be a link or
 * mention somebody. @cell: in a table, where a bar would end the cell even within code.
 */
void markdown_code(struct strbuf *out, const char *text, bool cell);

#endif
