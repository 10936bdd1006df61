/*
 * Handles signals that would end or hang our programs instead of reporting an error, and restores
 * the caller's settings for children.
 */
#ifndef NSPROF_SIGNALS_H
#define NSPROF_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/*
 * Call this first in every program except the front command, which turns into one of them by exec.
 * It ignores SIGXFSZ, so that a write beyond RLIMIT_FSIZE fails with EFBIG and is reported. It
 * resets SIGCHLD to the default: if a caller ignores it (trap '' CHLD, some supervisors), the
 * kernel reaps children itself and wait() never returns their status (wait(2), NOTES).
 */
void signals_init(void);
/*
 * Blocks all signals in this thread, for a thread that it starts: signals are handled elsewhere.
 * SIGSYS stays, because a blocked one ends the process (sandbox_filter() in host/sandbox.h). Put
 * *@old back with pthread_sigmask(3).
 */
void signals_block_all(sigset_t *old);
/* Lets @signo through in this thread. */
void signals_unblock(int signo);
/*
 * For a handler: is this the same request as the one before? Signals within 0.2 s are one. Ctrl-C
 * reaches a parser from the terminal, and whoever sends a signal to the whole process group sends
 * it to the program, too, which passes it on.
 */
bool signals_again(void);
/* Restores the caller's settings. A child calls this before it runs a program that is not ours. */
void signals_restore(void);

#endif
