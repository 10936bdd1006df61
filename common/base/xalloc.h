/*
 * Allocators that end the program when memory is exhausted. Never call them with a size taken from
 * a file or from the kernel that was not capped first.
 */
#ifndef NSPROF_XALLOC_H
#define NSPROF_XALLOC_H

#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *xcalloc(size_t nmemb, size_t size) __attribute__((malloc, alloc_size(1, 2), returns_nonnull));
/*
 * @size bytes (more than 0), zeroed, page-aligned and outside the heap. For large tables that a
 * short run hardly fills: only touched pages take memory. xpages_free() takes the same @size and
 * accepts NULL.
 */
void *xpages(size_t size) __attribute__((malloc, alloc_size(1), returns_nonnull));
void xpages_free(void *at, size_t size);
/*
 * Gives @zeros, @size bytes that are 0, pages of its own. For a table that is read before it is
 * written and soon is written everywhere. Otherwise the first read of a page would map the kernel's
 * zero page, and the first write would replace it. That is two faults, and the second one
 * interrupts each CPU that runs a thread of the process, to flush its TLB.
 */
void *xtouch(void *zeros, size_t size);
void *xrealloc(void *ptr, size_t size) __attribute__((alloc_size(2), returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull, nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull, nonnull));
void *xmemdup(const void *p, size_t n) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), malloc, returns_nonnull));

/*
 * Makes room for one more element in an array that doubles. @arr is a pointer variable, @n the
 * number of elements used, @cap (size_t) the number allocated.
 */
#define XGROW(arr, n, cap)                                                                         \
	do {                                                                                       \
		if ((size_t)(n) >= (cap)) {                                                        \
			(cap) = (cap) ? (cap) * 2 : 16;                                            \
			(arr) = xrealloc((arr), (cap) * sizeof(*(arr)));                           \
		}                                                                                  \
	} while (0)

#endif
