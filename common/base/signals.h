/*
 * * Handles signals that would end or hang our programs instead of reporting an error, and restores
 * the caller's settings for children.
 */
#ifndef NSPROF_SIGNALS_H
#define NSPROF_SIGNALS_H

/*
 * Call this first in every program except the front command, which turns into one of them by exec.
 * It ignores SIGXFSZ, so that a write beyond RLIMIT_FSIZE fails with EFBIG and is reported. It
 * resets SIGCHLD to the default: if a caller ignores it (trap '' CHLD, some supervisors), the
 * kernel reaps children itself and wait() never returns their status (wait(2), NOTES).
 */
void signals_init(void);
/* Restores the caller's settings. A child calls this before it runs a program that is not ours. */
void signals_restore(void);

#endif
