/*
 * Pages (pages.h). How malloc(3) grows its heap is glibc's malloc/malloc.c, sysmalloc(); huge pages are
 * Documentation/admin-guide/mm/transhuge.rst, MADV_POPULATE_WRITE is madvise(2).
 */
#include "pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util.h"

#define PAGE 4096u
#define FEW (4 * PAGE)		/* below that a call takes longer than the faults */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void pages_populate(void *at, size_t len)
{
	uintptr_t start = align_down((uintptr_t)at, PAGE);

	if (len >= FEW)
		madvise((void *)start, align_up((uintptr_t)at + len, PAGE) - start, MADV_POPULATE_WRITE);
}

#ifdef __GLIBC__

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "memlimit.h"

#define HUGE_PAGE (2ul << 20)
#define HEAP (64ul << 20)
/* When that is full it grows by this at the least; and such a piece is a mapping of its own, which grows without being copied. */
#define LATER (1ul << 20)
#define PIECE (4 << 20)
/* A huge page is all there if any of it is: twice the memory at the worst. Below such a limit that may be what is missing. */
#define LIMIT (512ull << 20)
#define SETTINGS "/sys/kernel/mm/transparent_hugepage/"

/* Does the setting @path have @word in it? */
static bool setting_has(const char *path, const char *word)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(n, 0)] = '\0';
	return strstr(text, word);
}

static bool kernel_has_them(void)
{
	return (setting_has(SETTINGS "enabled", "[madvise]") || setting_has(SETTINGS "enabled", "[always]")) &&
		setting_has(SETTINGS "hpage_pmd_size", "2097152\n");
}

/* The program's break, which is where the heap ends. */
static uintptr_t break_at(void)
{
	return (uintptr_t)sbrk(0);
}

/*
 * To the last small page before a huge one. What malloc() writes while it makes the heap comes in a small page, and then
 * so does all of the huge one around it.
 */
static void align_break(void)
{
	sbrk((intptr_t)(align_up(break_at() + PAGE, HUGE_PAGE) - PAGE - break_at()));
}

size_t pages_huge_heap(void)
{
	void *volatile piece;	/* else the compiler leaves both calls out */
	uintptr_t at, end;

	if (!kernel_has_them() || memlimit_bytes() < LIMIT)
		return 0;
	/*
	 * The heaps of further threads grow by a page at a time, with a system call for each. But what many threads at one
	 * heap's lock do to each other was not measured.
	 */
	if (cpus_usable() <= PAGES_ONE_HEAP)
		mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, PIECE);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
	/* Grown at once: what is used of a huge page before the heap has all of it comes in small ones. */
	mallopt(M_TOP_PAD, HEAP);
	align_break();
	at = align_up(break_at(), HUGE_PAGE);
	piece = malloc(mallinfo2().keepcost + 1);	/* more than there is */
	free(piece);
	mallopt(M_TOP_PAD, LATER);
	end = align_down(break_at(), HUGE_PAGE);
	if (at >= end || madvise((void *)at, end - at, MADV_HUGEPAGE))
		return 0;
	return end - at;
}

#else

size_t pages_huge_heap(void)
{
	return 0;
}

#endif
