/*
 * main -> lib_enter (libspin.so) -> lib_walk (libspin.so, static there) -> app_callback -> app_burn
 * and, through qsort of the C library, main -> app_sort -> qsort ... -> app_compare.
 * "uselib --chain" prints the first of the two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long (*burn_fn)(unsigned long);
unsigned long lib_enter(burn_fn fn, unsigned long n);

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP() __asm__ volatile("" ::: "memory")

NOINLINE unsigned long app_burn(unsigned long n)
{
	for (unsigned long i = 0; i < 5000000; i++) {
		n = n * 2862933555777941757ul + 3037000493ul;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}

NOINLINE unsigned long app_callback(unsigned long n)
{
	unsigned long r = app_burn(n);

	KEEP();
	return r ^ n;
}

NOINLINE int app_compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	volatile unsigned long w = 0;

	for (int i = 0; i < 200; i++)
		w += (unsigned long)i;
	return (x > y) - (x < y);
}

NOINLINE void app_sort(void)
{
	static int v[3000];

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		v[i] = rand();
	qsort(v, sizeof(v) / sizeof(*v), sizeof(*v), app_compare);
	KEEP();
}

int main(int argc, char **argv)
{
	struct timespec ts;
	double end;
	unsigned long s = 0;

	if (argc > 1 && !strcmp(argv[1], "--chain")) {
		puts("main;lib_enter;lib_walk;app_callback;app_burn");
		return 0;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	end = ts.tv_sec + ts.tv_nsec / 1e9 + (argc > 1 ? atof(argv[1]) : 1);
	do {
		s += lib_enter(app_callback, s);
		app_sort();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while (ts.tv_sec + ts.tv_nsec / 1e9 < end);
	return s == 42;
}
