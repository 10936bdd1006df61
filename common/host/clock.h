/*
 * The clock of samples and side-band, CLOCK_MONOTONIC as the kernel counts it. In a time namespace (time_namespaces(7)) programs
 * are told another one, which is ahead of it or behind.
 */
#ifndef NSPROF_CLOCK_H
#define NSPROF_CLOCK_H

#include <stdint.h>

/* ns, whatever namespace we are in. */
uint64_t clock_mono_ns(void);
/* CLOCK_MONOTONIC_RAW, likewise. */
uint64_t clock_raw_ns(void);
/*
 * ns that CLOCK_MONOTONIC of a process is ahead of the kernel's; 0 where its namespace has none or is not to be told. @procfd: its
 * folder in /proc, borrowed.
 */
int64_t clock_mono_shift(int procfd);
/*
 * Now, in what /proc/PID/stat counts the start of a process from (field 22): CLOCK_BOOTTIME of our namespace, or the kernel's before
 * Linux 5.11 or thereabouts. And so many ticks of that field.
 */
int64_t clock_starts_ns(void);
int64_t clock_ticks_ns(uint64_t ticks);

#endif
