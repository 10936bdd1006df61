/* Ctrl-C ends the pass, not the program: what was read so far is shown. */
#ifndef NSPROF_INTERRUPT_H
#define NSPROF_INTERRUPT_H

#include <stdbool.h>

/*
 * From now on the first SIGINT or SIGTERM asks to stop; the second one kills as always. May be
 * called again: what was asked before is forgotten. @restart: system calls that wait go on waiting;
 * without it a pipe that nobody opens for writing is given up with EINTR.
 */
void interrupt_init(bool restart);
bool interrupt_requested(void);

/* There is nothing to be shown: if a signal asked to stop, the program ends by it, as if nobody had caught it. */
void interrupt_end(void);

#endif
