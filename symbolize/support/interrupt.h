/* Ctrl-C ends the pass, not the program: what was read up to then is shown. */
#ifndef NSPROF_INTERRUPT_H
#define NSPROF_INTERRUPT_H

#include <stdbool.h>

/*
 * After this call, the first SIGINT or SIGTERM requests a stop and the second one kills as usual.
 * Another call clears an earlier request. @restart: blocking system calls are restarted; otherwise
 * an open() that waits for the writer of a pipe returns EINTR.
 */
void interrupt_init(bool restart);
bool interrupt_requested(void);

/*
 * Nothing will be shown. If a signal requested a stop, the program dies from that signal, as if it
 * had no handler.
 */
void interrupt_end(void);

#endif
