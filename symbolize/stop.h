/* Ctrl-C ends the pass, not the program: what was read so far is shown. */
#ifndef NSPROF_STOP_H
#define NSPROF_STOP_H

#include <stdbool.h>

/*
 * From now on the first SIGINT or SIGTERM asks to stop; the second one kills as always. May be
 * called again: what was asked before is forgotten.
 */
void stop_init(void);
bool stop_requested(void);

#endif
