/* How a parser (parser.h) loses its rights. */
#ifndef NSPROF_PARSER_CONFINE_H
#define NSPROF_PARSER_CONFINE_H

#include <sys/types.h>

#include "host/parser.h"

/*
 * For the calling process, which has one thread. Layers that the kernel lacks are left out; -v says
 * what is in force. @parent: if that process has gone, this one ends.
 */
void parser_confine(const struct parser *p, pid_t parent);

#endif
