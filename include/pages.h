/*
 * How memory comes by its pages. Each that is written for the first time is a fault, in which the kernel clears it; in a virtual
 * machine the fault alone takes several times as long.
 */
#ifndef NSPROF_PAGES_H
#define NSPROF_PAGES_H

#include <stddef.h>

/*
 * Before the first thread, in a program that soon fills some MiB and ends: what malloc() gives comes from a heap whose first
 * 64 MiB the kernel may give in huge pages, some ten faults where there were thousands. Of a huge page
 * all is there if any of it is: that may be twice the memory. On up to PAGES_ONE_HEAP CPUs it is the heap of all threads. Does
 * nothing where memory is limited to less than 512 MiB, the kernel gives no transparent huge pages of 2 MiB, or the C library is
 * not glibc. Returns the bytes that may be huge pages.
 */
size_t pages_huge_heap(void);

#define PAGES_ONE_HEAP 8u

/*
 * [@at, @at + @len) of an anonymous mapping will be written, all of it: has its pages come in one system call, of those of which
 * they would come one by one. Nothing is said of those that cannot be had (Linux before 5.14 does not know how): they come
 * when they are written.
 */
void pages_populate(void *at, size_t len);

#endif
