/*
 * The clock of samples and side-band: CLOCK_MONOTONIC as the kernel counts it. In a time namespace
 * (time_namespaces(7)) programs see a different clock, which is ahead of it or behind.
 */
#ifndef NSPROF_CLOCK_H
#define NSPROF_CLOCK_H

#include <stdint.h>

/* The kernel's CLOCK_MONOTONIC in ns, whatever namespace we are in. */
uint64_t clock_mono_ns(void);
/* The kernel's CLOCK_MONOTONIC_RAW, likewise. */
uint64_t clock_raw_ns(void);
/* CPU time of the calling thread in ns. */
uint64_t clock_thread_ns(void);
/*
 * How far CLOCK_MONOTONIC of a process is ahead of the kernel's, in ns. 0 if its namespace has no
 * offset or the offset is unknown. @procfd: the process's folder in /proc, borrowed.
 */
int64_t clock_mono_shift(int procfd);
/*
 * The current time in ns on the clock of process starts in /proc/PID/stat (field 22):
 * CLOCK_BOOTTIME of our namespace, or the kernel's before about Linux 5.11. clock_ticks_ns()
 * converts @ticks of that field to ns.
 */
int64_t clock_starts_ns(void);
int64_t clock_ticks_ns(uint64_t ticks);
/*
 * The wall clock at @time of clock_mono_ns(), in ns. Never later than it was, so that a file that the
 * next program wrote does not look like its predecessor's.
 */
int64_t clock_wall_ns(uint64_t time);
/*
 * How much older than the write a file's mtime may be, in ns: file systems take the time of the
 * last tick. Since 6.13 they do so for files that nobody looked at since the write before.
 */
int64_t clock_file_late_ns(void);

#endif
