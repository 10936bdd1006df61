/* Sends output to a pager when it goes to a terminal. */
#ifndef NSPROF_PAGER_H
#define NSPROF_PAGER_H

#include <stdbool.h>
#include <stdint.h>
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

/*
 * A parser (parser.h) cannot start a program: pager_start() asks the one that it belongs to, once. In
 * that program: answers, -ENOSYS: it is another request. pager_serve_end() waits for the pager.
 */
int pager_serve(uint32_t kind, int *value, int *fd);
void pager_serve_end(void);

#endif
