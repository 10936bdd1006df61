/*
 * Page faults and huge pages (pages.h). Sources: glibc's malloc/malloc.c, sysmalloc() (how
 * malloc(3) grows its heap); Documentation/admin-guide/mm/transhuge.rst; madvise(2)
 * (MADV_POPULATE_WRITE).
 */
#include "host/pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/util.h"
#include "host/clock.h"

#define PAGE 4096u
#define FEW (4 * PAGE)		/* for less, the call takes longer than the faults */
#define BATCH 8u		/* pages */
#define BATCHES 4u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void pages_populate(void *at, size_t len)
{
	uintptr_t start = align_down((uintptr_t)at, PAGE);

	if (len >= FEW)
		madvise((void *)start, align_up((uintptr_t)at + len, PAGE) - start, MADV_POPULATE_WRITE);
}

/* Returns the fastest batch: the others may have waited for a CPU. */
uint64_t pages_fault_ns(void)
{
	volatile char *p = mmap(NULL, BATCHES * BATCH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = p;
	uint64_t best = UINT64_MAX;

	if (p == MAP_FAILED)
		return 0;
	madvise((void *)(uintptr_t)p, BATCHES * BATCH * PAGE, MADV_NOHUGEPAGE);
	for (unsigned int i = 0; i < BATCHES; i++) {
		uint64_t begin = clock_mono_ns();

		for (unsigned int k = 0; k < BATCH; k++, at += PAGE)
			*at = 1;
		best = MIN(best, (clock_mono_ns() - begin) / BATCH);
	}
	munmap((void *)(uintptr_t)p, BATCHES * BATCH * PAGE);
	return best;
}

static bool slow;

static void find_out(void)
{
	slow = pages_fault_ns() >= PAGES_SLOW_NS;
}

bool pages_are_slow(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_out);
	return slow;
}

#ifdef __GLIBC__

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "base/cpus.h"
#include "host/memlimit.h"

#define HUGE_PAGE (2ul << 20)
#define HEAP (64ul << 20)
/*
 * When the first 64 MiB are full, the heap grows by at least this. Allocations of PIECE and more
 * are separate mappings, which grow without being copied.
 */
#define LATER (1ul << 20)
#define PIECE (4 << 20)
/*
 * Touching any part of a huge page allocates all of it, which may double the memory use. Below this
 * limit that memory may be needed.
 */
#define LIMIT (512ull << 20)
#define SETTINGS "/sys/kernel/mm/transparent_hugepage/"

/* Does the setting @path contain @word? */
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

/* The program break, which is the end of the heap. */
static uintptr_t break_at(void)
{
	return (uintptr_t)sbrk(0);
}

/*
 * Moves the break to the last small page before a huge page. malloc() writes to this page while it
 * sets up the heap. If that page were within a huge page, all of that one would consist of small
 * pages.
 */
static void align_break(void)
{
	sbrk((intptr_t)(align_up(break_at() + PAGE, HUGE_PAGE) - PAGE - break_at()));
}

/* Returns the number of bytes that may be huge pages. */
static size_t grow_at_once(void)
{
	void *volatile piece;	/* volatile: otherwise the compiler removes both calls */
	uintptr_t at, end;

	/*
	 * Parts of a huge page used before the heap covers all of it are faulted in as small pages.
	 */
	mallopt(M_TOP_PAD, HEAP);
	align_break();
	at = align_up(break_at(), HUGE_PAGE);
	piece = malloc(mallinfo2().keepcost + 1);	/* more than is available */
	free(piece);
	end = align_down(break_at(), HUGE_PAGE);
	if (at >= end || madvise((void *)at, end - at, MADV_HUGEPAGE))
		return 0;
	return end - at;
}

size_t pages_heap(bool huge)
{
	const unsigned int cpus = cpus_usable();
	size_t len;

	huge = huge && kernel_has_them() && memlimit_bytes() >= LIMIT;
	/*
	 * Heaps of further threads grow page by page, with a system call each. With more CPUs,
	 * contention for the lock of a single heap was not measured. There the limit is glibc's own.
	 * Unless it is set, glibc reads the number of CPUs from /sys when it wants a ninth heap, which
	 * a sandbox refuses.
	 */
	mallopt(M_ARENA_MAX, cpus <= PAGES_ONE_HEAP ? 1 : (int)(8 * cpus));
	mallopt(M_MMAP_THRESHOLD, PIECE);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP);
	len = huge ? grow_at_once() : 0;
	mallopt(M_TOP_PAD, LATER);
	return len;
}

#else

size_t pages_heap(bool huge)
{
	(void)huge;
	return 0;
}

#endif
