/*
 * Page faults: what they cost, heaps of huge and of small pages, sparsely used tables, and pages
 * faulted in together. Each test runs in a program of its own, so that its heap is untouched.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpus.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/memlimit.h"
#include "host/pages.h"

#define MIB ((size_t)1 << 20)
#define HUGE_PAGE (2 * MIB)
#define SMALL 4096u

/* With a sanitizer, malloc() is its own, which takes memory and has faults of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Exit statuses of a test other than 1. */
enum { PASSED = 0, NOT_HERE = 255 };
#define want(cond) do { if (!(cond)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); return 1; } } while (0)

static long faults(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_minflt;
}

/* Writes to each page of [@p, @p + @len) and returns the number of faults. */
static long touch(volatile char *p, size_t len)
{
	long before = faults();

	for (size_t at = 0; at < len; at += SMALL)
		p[at] = 1;
	return faults() - before;
}

/* Eight MiB of a mapping that begin at a huge page. */
static char *mapped(void)
{
	char *p = mmap(NULL, 10 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : (char *)align_up((uintptr_t)p, HUGE_PAGE);
}

/*
 * Whether the kernel currently gives huge pages on request. Its free memory may be too fragmented.
 */
static bool gives_huge_pages(void)
{
	char *p = mapped();

	return p && !madvise(p, 8 * MIB, MADV_HUGEPAGE) && touch(p, 8 * MIB) <= 4;
}

static void *malloc_of(void *size)
{
	return malloc((size_t)size);
}

/*
 * Memory from malloc() causes few faults, in another thread as well. What does not fit into the
 * heap comes from elsewhere.
 */
static int heap(void)
{
	char *first, *large, *of_thread;
	pthread_t tid;
	size_t huge;

	if (!gives_huge_pages())
		return NOT_HERE;
	huge = pages_heap(true);
	want(huge && huge % HUGE_PAGE == 0);
	first = malloc(3 * MIB);
	want(first && (uintptr_t)first < (uintptr_t)sbrk(0));
	want(touch(first, 3 * MIB) <= 3);
	large = malloc(80 * MIB);
	want(large && (large < first || large > (char *)sbrk(0)));
	want(!pthread_create(&tid, NULL, malloc_of, (void *)(3 * MIB)));
	want(!pthread_join(tid, (void **)&of_thread) && of_thread);
	if (cpus_usable() <= PAGES_ONE_HEAP)
		want(of_thread > first && of_thread < (char *)sbrk(0));
	/* Freed memory is reused with its pages. */
	free(first);
	first = malloc(3 * MIB);
	want(touch(first, 3 * MIB) == 0);
	return PASSED;
}

static char cgroup[2048];	/* the one that a test made */

/* Writes @val to the file @path. */
static bool put(const char *path, uint64_t val)
{
	FILE *f = fopen(path, "we");
	bool done = f && fprintf(f, "%" PRIu64 "\n", val) > 0;

	return f && !fclose(f) && done;
}

/* Enters a cgroup limited to @bytes, below this process's own. False if that is impossible here. */
static bool limited_to(uint64_t bytes)
{
	static const struct {
		const char *line, *mount, *file;
	} versions[] = {
		{ ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
		{ "0::", "/sys/fs/cgroup", "memory.max" },
	};
	char path[2048], file[4096], line[2048], *at;
	bool done = false;
	FILE *f;

	for (size_t v = 0; v < ARRAY_SIZE(versions) && !done; v++) {
		f = fopen("/proc/self/cgroup", "re");
		while (f && fgets(line, sizeof(line), f)) {
			at = strstr(line, versions[v].line);
			if (!at)
				continue;
			at += strlen(versions[v].line);
			at[strcspn(at, "\n")] = '\0';
			snprintf(path, sizeof(path), "%s%.900s/nsprof-pages-%d", versions[v].mount, at, (int)getpid());
			if (mkdir(path, 0755))
				continue;
			snprintf(file, sizeof(file), "%s/%s", path, versions[v].file);
			done = put(file, bytes);
			snprintf(file, sizeof(file), "%s/cgroup.procs", path);
			done = done && put(file, (uint64_t)getpid());
			if (done)
				break;
			rmdir(path);
		}
		if (f)
			fclose(f);
	}
	if (done)
		snprintf(cgroup, sizeof(cgroup), "%s", path);
	return done;
}

/* Where memory is scarce, it behaves as without huge pages. The parent removes the cgroup. */
static int scarce(void)
{
	uint64_t before = memlimit_bytes();
	size_t huge;

	if (!limited_to(128 * MIB))
		return NOT_HERE;
	printf("%s\n", cgroup);
	fflush(stdout);
	want(memlimit_bytes() == MIN(before, 128 * MIB));
	huge = pages_heap(true);
	want(!huge);
	return PASSED;
}

/*
 * With small pages, too, all threads share one heap. Its pages come as they are written, and stay.
 */
static int small_pages(void)
{
	char *first, *of_thread;
	pthread_t tid;

	want(pages_heap(false) == 0);
	first = malloc(3 * MIB);
	want(first && first < (char *)sbrk(0));
	want(!pthread_create(&tid, NULL, malloc_of, (void *)(3 * MIB)));
	want(!pthread_join(tid, (void **)&of_thread) && of_thread);
	if (cpus_usable() <= PAGES_ONE_HEAP)
		want(of_thread > first && of_thread < (char *)sbrk(0));
	touch(first, 3 * MIB);
	free(first);
	first = malloc(3 * MIB);
	want(touch(first, 3 * MIB) == 0);
	return PASSED;
}

/*
 * Of a table as large as two huge pages only the touched part is in memory, whichever heap the
 * program has.
 */
static int table(void)
{
	unsigned char there[4 * MIB / SMALL];
	size_t n = 0;
	char *p;

	pages_heap(true);
	p = xpages(4 * MIB);
	want((uintptr_t)p % SMALL == 0);
	want(madvise(p, 4 * MIB, MADV_NOHUGEPAGE) == 0);	/* the kernel may say "always" */
	want(p[0] == 0 && p[4 * MIB - 1] == 0);
	p[5 * SMALL] = 1;
	p[900 * SMALL] = 1;
	want(mincore(p, 4 * MIB, there) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(there); i++)
		n += there[i] & 1;
	want(n == 4 && there[0] & 1 && there[5] & 1 && there[900] & 1 && there[1023] & 1);
	xpages_free(p, 4 * MIB);
	xpages_free(NULL, SMALL);
	return PASSED;
}

/* More than the heap of huge pages has: all of it is usable memory. */
static int much_of(bool huge)
{
	enum { PIECES = 40 };
	char *piece[PIECES];

	pages_heap(huge);
	for (int i = 0; i < PIECES; i++) {
		piece[i] = malloc(3 * MIB);
		want(piece[i]);
		memset(piece[i], i, 3 * MIB);
	}
	for (int i = 0; i < PIECES; i++)
		for (size_t at = 0; at < 3 * MIB; at += 509)
			want(piece[i][at] == i);
	return PASSED;
}

static int much(void)
{
	return much_of(true);
}

static int much_small(void)
{
	return much_of(false);
}

/* Where the heap may not grow that far, malloc() still succeeds while the machine has memory. */
static int small_limit(void)
{
	struct rlimit lim = { 16 * MIB, 16 * MIB };
	char *p;

	want(!setrlimit(RLIMIT_DATA, &lim));
	pages_heap(true);
	p = malloc(MIB);
	want(p);
	memset(p, 1, MIB);
	return PASSED;
}

/* All pages of a range, including both ends, and no others. */
static int populate(void)
{
	char *p = mapped();

	want(p && !madvise(p, 8 * MIB, MADV_NOHUGEPAGE));
	if (madvise(p + 7 * MIB, SMALL, 23 /* MADV_POPULATE_WRITE */))
		return NOT_HERE;
	pages_populate(p + 5 * SMALL + 100, 20 * SMALL);
	want(touch(p + 5 * SMALL, 21 * SMALL) == 0);
	want(touch(p, 5 * SMALL) == 5);
	want(touch(p + 26 * SMALL, 3 * SMALL) == 3);
	/* Pages that cannot be populated are no error, and neither is an empty range. */
	pages_populate(p, 0);
	pages_populate(NULL, 8 * SMALL);
	return PASSED;
}

/*
 * The cost of a fault, compared with our own measurement: a mapping of as many pages, written
 * sequentially.
 */
static int fault_time(void)
{
	uint64_t ns = UINT64_MAX, told = UINT64_MAX;
	struct timespec begin, end;

	for (int i = 0; i < 50; i++) {
		char *p = mmap(NULL, 32 * SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		want(p != MAP_FAILED);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		touch(p, 32 * SMALL);
		clock_gettime(CLOCK_MONOTONIC, &end);
		munmap(p, 32 * SMALL);
		ns = MIN(ns, (uint64_t)((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec) / 32);
		told = MIN(told, pages_fault_ns());
	}
	fprintf(stderr, "# a fault: %" PRIu64 " ns, told %" PRIu64 "\n", ns, told);
	want(told > ns / 4 && told < 4 * ns);
	return PASSED;
}

static const struct {
	const char *name;
	int (*run)(void);
	bool sanitized;		/* works with the sanitizer's malloc() */
} programs[] = {
	{ "heap", heap, false },
	{ "much", much, false },
	{ "small limit", small_limit, false },
	{ "populate", populate, false },
	{ "scarce", scarce, true },
	{ "small pages", small_pages, false },
	{ "table", table, true },
	{ "much of small pages", much_small, false },
	{ "time of a fault", fault_time, false },
};

static void run(void **state)
{
	size_t number = (size_t)*state;
	char arg[2] = { (char)('0' + number), '\0' }, said[2048] = "";
	int status, out[2];
	FILE *f;
	pid_t pid;

	if (SANITIZED && !programs[number].sanitized)
		skip();
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execl("/proc/self/exe", "test_pages", arg, NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(out[1]);
	f = fdopen(out[0], "r");
	assert_non_null(f);
	/* The cgroup that it made, to be removed. */
	if (fgets(said, sizeof(said), f))
		said[strcspn(said, "\n")] = '\0';
	assert_int_equal(waitpid(pid, &status, 0), pid);
	fclose(f);
	if (said[0])
		assert_int_equal(rmdir(said), 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(WEXITSTATUS(status), PASSED);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[ARRAY_SIZE(programs)];

	if (argc > 1 && (size_t)(argv[1][0] - '0') < ARRAY_SIZE(programs))
		return programs[argv[1][0] - '0'].run();
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		tests[i] = (struct CMUnitTest){ .name = programs[i].name, .test_func = run, .initial_state = (void *)i };
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
