/*
 * What a thread waits for, by the kernel's functions on its stack. Names are those of Linux 5.10 to
 * 6.18; compilers inline some of them, so that a reason often has several.
 */
#ifndef NSPROF_WAIT_REASON_H
#define NSPROF_WAIT_REASON_H

#include <stdbool.h>
#include <stdint.h>

/* An index; 0: none is known. */
typedef uint8_t wait_reason;

/*
 * What a kernel function in a stack says; @name as in /proc/kallsyms. @throttles: of a kernel of
 * which wait_reason_throttles() is true.
 */
wait_reason wait_reason_of(const char *name, bool throttles);
/*
 * The reason of a stack, from those of its functions: call it for one after the other, from the leaf
 * on, beginning with @so_far = 0. The innermost one tells, but that a page fault waits for the disk,
 * or for a lock, is a page fault.
 */
wait_reason wait_reason_add(wait_reason so_far, wait_reason outer);
/* Does the stack of a throttled thread tell, on a kernel of this release ("6.18.44-x")? */
bool wait_reason_throttles(const char *release);
/* "[futex]"; NULL for 0. */
const char *wait_reason_text(wait_reason reason);
/*
 * Had the cgroup of a preempted thread used up its CPU limit? Then it could run, but may not.
 * @limited: counts of the kernel show that it did so during the recording. Some stacks prove it
 * without.
 */
bool wait_reason_is_throttled(wait_reason reason, bool limited);

#endif
