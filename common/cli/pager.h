/* Text for people on a terminal goes through a pager. */
#ifndef NSPROF_PAGER_H
#define NSPROF_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * When standard output is a terminal: start $NSPROF_PAGER, $PAGER or less, and have standard output go there. Its pid, to be
 * given to pager_end(); 0: there is none (no terminal, an empty variable or "cat").
 */
pid_t pager_start(void);
/* After the last output: waits until it has been read. Whoever leaves the pager early has seen enough: that is no error. */
void pager_end(pid_t pager);
/* Are colors wanted? On a terminal, unless $NO_COLOR (no-color.org) or TERM=dumb; asked before pager_start(). */
bool pager_color(void);

#endif
