/*
 * Nested functions, called by address through gcc's trampolines on the stack, which is executable
 * for that: main -> nested_outer -> nested_each -> nested_visit -> nested_burn. nested [--chain]
 * SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

NOINLINE void nested_burn(unsigned long n)
{
	unsigned long x = n;

	for (int i = 0; i < 50000; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	sink += x;
}

NOINLINE void nested_each(void (*visit)(unsigned long), unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		visit(i);
	sink++;
}

NOINLINE void nested_outer(double seconds)
{
	unsigned long calls = 0;
	struct timespec a, b;

	/* Otherwise the compiler appends a number to its name. */
	auto void nested_visit(unsigned long i) __asm__("nested_visit");
	NOINLINE void nested_visit(unsigned long i)
	{
		calls++;
		nested_burn(i);
		sink++;
	}

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		nested_each(nested_visit, 8);
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9 < seconds);
	sink += calls;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--chain")) {
		puts("main;nested_outer;nested_each;nested_visit;nested_burn");
		return 0;
	}
	nested_outer(argc > 1 ? atof(argv[1]) : 1);
	return 0;
}
