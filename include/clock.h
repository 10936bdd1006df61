/*
 * The clock of samples and side-band, CLOCK_MONOTONIC as the kernel counts it. In a time namespace (time_namespaces(7)) programs
 * are told another one, which is ahead of it or behind.
 */
#ifndef NSPROF_CLOCK_H
#define NSPROF_CLOCK_H

#include <stdint.h>

/* ns, whatever namespace we are in. */
uint64_t clock_mono_ns(void);
/*
 * ns that CLOCK_MONOTONIC of a process is ahead of the kernel's; 0 where its namespace has none or is not to be told. @procfd: its
 * folder in /proc, borrowed.
 */
int64_t clock_mono_shift(int procfd);

#endif
