/* What a parser may have of other processes' files: binaries, perf maps, jitdumps. */
#ifndef NSPROF_PARSER_FILES_H
#define NSPROF_PARSER_FILES_H

#include <stdbool.h>

#include "host/fileop.h"

/* @sources: the parser may also read files that are called like source text. */
void parser_files_begin(bool sources);
/*
 * Does what a parser asks for, like fileop_run(). -EPERM: not for a parser. A file that is not for
 * it comes with its attributes, and nothing to read.
 */
int parser_files_run(const struct fileop *op, struct fileop_result *r);

#endif
