/*
 * The cost of new memory pages. The first write to a page is a fault, and the kernel clears the
 * page. In some virtual machines the fault alone takes ten times as long, and huge pages are faster
 * there. Elsewhere small pages are faster: a page that one program freed goes to the next as it is,
 * while the host takes back free huge pages and clears them again bit by bit.
 */
#ifndef NSPROF_PAGES_H
#define NSPROF_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Time in ns that the first write to a 4 KiB page takes here and now, measured on a few dozen
 * pages: the fault and clearing the page. 0: no memory.
 */
uint64_t pages_fault_ns(void);

/*
 * From this fault time on, clearing a whole huge page is faster than faulting in those of its small
 * pages that are written.
 */
#define PAGES_SLOW_NS 5000u

/*
 * Are small pages so slow here that huge pages are better? Any thread may call this. The first call
 * measures it, which takes a tenth of a millisecond.
 */
bool pages_are_slow(void);

/*
 * Sets up malloc() for a program that soon fills some MiB and ends. Call it before starting
 * threads. With up to PAGES_ONE_HEAP CPUs, all threads share one heap.
 *
 * @huge: the kernel may use huge pages for the first 64 MiB, which means some ten faults instead of
 * thousands. Touching any part of a huge page allocates all of it, so memory use may double.
 * Ignored if memory is limited to less than 512 MiB, or the kernel has no transparent huge pages of
 * 2 MiB.
 *
 * Does nothing if the C library is not glibc. Returns the number of bytes that may be huge pages.
 */
size_t pages_heap(bool huge);

#define PAGES_ONE_HEAP 8u

/*
 * Prepares [@at, @at + @len) of an anonymous mapping, all of which will be written: one system call
 * populates pages that would otherwise fault one by one. Errors are ignored (Linux before 5.14
 * lacks the call): such pages are populated when they are written.
 */
void pages_populate(void *at, size_t len);

#endif
