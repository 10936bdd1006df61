/* heap.c: what malloc() gives afterwards lies in memory that the kernel was told to give in huge pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "heap.h"

/* More than what may be left of the heap that the test itself began. */
#define SIZE ((size_t)300 << 10)

/* "VmFlags: rd wr mr mw me ac hg" of the mapping with @addr, proc_pid_smaps(5): hg is MADV_HUGEPAGE. */
static bool is_advised(const void *addr)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long start, end;
	bool here = false, found = false;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)addr >= start && (uintptr_t)addr < end;
		else if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, " hg") != NULL;
	}
	fclose(f);
	return found;
}

static void *allocate(void *arg)
{
	(void)arg;
	return malloc(SIZE);
}

static void test_huge_pages(void **state)
{
	void *small, *large, *of_thread;
	pthread_t tid;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();	/* they have a malloc() of their own */
#endif
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		skip();
	heap_prepare();
	small = malloc(SIZE);
	large = malloc(3 << 20);
	assert_true(is_advised(small));
	assert_true(is_advised(large));
	assert_true(is_advised((char *)large + (3 << 20) - 1));
	assert_int_equal(pthread_create(&tid, NULL, allocate, NULL), 0);
	pthread_join(tid, &of_thread);
	/* With more, threads have heaps of their own. */
	if (cpus_usable() <= 4)
		assert_true(is_advised(of_thread));
	free(small);
	free(large);
	free(of_thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_huge_pages) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
