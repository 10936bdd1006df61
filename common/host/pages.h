/*
 * How memory comes by its pages. Each that is written for the first time is a fault, in which the kernel clears it; in some virtual
 * machines the fault alone takes ten times as long. There huge pages are faster. Elsewhere small ones are: what is freed by a
 * program is given to the next one as it is, while a host takes huge pages back that lie free, and clears them again, bit by bit.
 */
#ifndef NSPROF_PAGES_H
#define NSPROF_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds that the first write to a page of 4 KiB takes here and now, of some dozen: the fault, and clearing the page. 0: no memory. */
uint64_t pages_fault_ns(void);

/* From so many on a huge page, which is cleared as a whole, is there sooner than those of its small pages that are written. */
#define PAGES_SLOW_NS 5000u

/*
 * Are small pages so slow here that memory is better had in huge ones? Measured at the first call, which takes a tenth of a
 * millisecond; to be called by any thread.
 */
bool pages_are_slow(void);

/*
 * Before the first thread, in a program that soon fills some MiB and ends: what malloc() gives comes from one heap, on up to
 * PAGES_ONE_HEAP CPUs for all threads. @huge: the kernel may give the first 64 MiB of it in huge pages, some ten faults where there
 * were thousands; of a huge page all is there if any of it is: that may be twice the memory. Not so where memory is limited to
 * less than 512 MiB, or the kernel gives no transparent huge pages of 2 MiB. Does nothing where the C library is not glibc.
 * Returns the bytes that may be huge pages.
 */
size_t pages_heap(bool huge);

#define PAGES_ONE_HEAP 8u

/*
 * [@at, @at + @len) of an anonymous mapping will be written, all of it: has its pages come in one system call, of those of which
 * they would come one by one. Nothing is said of those that cannot be had (Linux before 5.14 does not know how): they come
 * when they are written.
 */
void pages_populate(void *at, size_t len);

#endif
