/* Sends output to a pager when it goes to a terminal. */
#ifndef NSPROF_PAGER_H
#define NSPROF_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * If standard output is a terminal, starts $NSPROF_PAGER, $PAGER or less, and redirects standard
 * output to it. Returns its pid for pager_end(); 0: no pager (no terminal, an empty variable, or
 * "cat").
 */
pid_t pager_start(void);
/*
 * Call it after the last output: waits until the pager exits. Leaving the pager early is not an
 * error.
 */
void pager_end(pid_t pager);
/*
 * Should output have colors? True on a terminal, unless $NO_COLOR (no-color.org) or TERM=dumb is
 * set. Call it before pager_start().
 */
bool pager_color(void);

#endif
