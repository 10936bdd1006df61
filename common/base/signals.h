/* Signals that would end or hang a program of ours instead of telling it something, as its caller left them. */
#ifndef NSPROF_SIGNALS_H
#define NSPROF_SIGNALS_H

/*
 * First thing in each program but the front command, which becomes one of them. SIGXFSZ is ignored, so that a write beyond RLIMIT_FSIZE fails with EFBIG and is told of. SIGCHLD is not: where a
 * caller ignores it (trap '' CHLD, some supervisors), the kernel reaps children itself, and nobody hears of their end (wait(2), NOTES).
 */
void signals_init(void);
/* As the caller had them: in a child, before it runs a program that is not ours. */
void signals_restore(void);

#endif
