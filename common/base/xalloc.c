/*
 * Allocators that end the program when memory is exhausted. This is acceptable because every size
 * from a file or the kernel was capped before: either our own use is too high or the machine is in
 * trouble.
 */
#include "base/xalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"

#define PAGE 4096u

static void __attribute__((noreturn)) out_of_memory(size_t size)
{
	/* A redirected message would need memory itself and would never be shown. */
	log_redirect(NULL, NULL);
	pr_err("out of memory: cannot allocate %zu bytes", size);
	exit(EXIT_FAILURE);
}

/*
 * malloc(0) may return NULL. Asking for one byte keeps the promise that the result is never NULL.
 */
void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *xcalloc(size_t nmemb, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(nmemb, size, &total))
		out_of_memory(SIZE_MAX);
	p = total ? calloc(nmemb, size) : calloc(1, 1);
	if (!p)
		out_of_memory(total);
	return p;
}

void *xpages(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		out_of_memory(size);
	return at;
}

void xpages_free(void *at, size_t size)
{
	if (at)
		munmap(at, size);
}

void *xtouch(void *zeros, size_t size)
{
	volatile char *p = zeros;

	for (size_t at = 0; at < size; at += PAGE)
		p[at] = 0;
	if (size)
		p[size - 1] = 0;
	return zeros;
}

void *xrealloc(void *ptr, size_t size)
{
	void *p = realloc(ptr, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

char *xstrdup(const char *s)
{
	return xmemdup(s, strlen(s) + 1);
}

char *xstrndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *p = xmalloc(len + 1);

	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

void *xmemdup(const void *p, size_t n)
{
	void *copy = xmalloc(n);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory(0);
	return s;
}
