/*
 * Perf maps for an import (contrib/doc/perf-data.md). perf.data shows neither the user of a process
 * nor which process had its pid later, and everybody may write to /tmp. So a file counts only if
 * its time and owner rule out everybody else.
 */
#ifndef NSPROF_HOSTMAP_H
#define NSPROF_HOSTMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "host/parser.h"

struct proc;

/*
 * The perf map of @p, a process of an imported recording, if the file on this host proves to be its
 * own: O_RDONLY, owned, or negative errno. In a parser, the program that it belongs to judges, because
 * it takes looks at the process that has the pid now.
 */
int hostmap_of(const struct proc *p);
/*
 * Is the file that hostmap_of() returned as @fd, and that was read since, still proved to be that of
 * @p? Another program may have written to it before the reading.
 */
bool hostmap_still(const struct proc *p, int fd);

/* The request for it: its text has what is known of the process. */
#define HOSTMAP_ASK (PARSER_OTHER + 200)
/* In the program: answers it. *@fd as from hostmap_of(); 0 or negative errno. */
int hostmap_serve(const char *text, int *fd);

#endif
