/*
 * steady SECONDS [DEPTH]: works at the end of DEPTH (40) calls that stay, in up to 8 more that come
 * and go, as a server or an interpreter does. For the unwinding benchmark: most of each stack
 * equals that of the sample before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long total;

__attribute__((noinline)) static unsigned long leaf(unsigned long n, unsigned int depth)
{
	unsigned long sum = n;

	if (depth)
		return leaf(n * 3 + 1, depth - 1) + depth;
	for (int i = 0; i < 2000; i++)
		sum = sum * 6364136223846793005ul + 1442695040888963407ul;
	return sum;
}

__attribute__((noinline)) static int outer(double seconds, unsigned int depth)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	int ret = 1;

	if (depth)
		return outer(seconds, depth - 1) + 1;
	while (clock() < end)
		for (unsigned long i = 0; i < 1000; i++)
			total += leaf(i, i % 8);
	return ret;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	int depth = outer(seconds, argc > 2 ? (unsigned int)atoi(argv[2]) : 40);

	printf("%d calls\n", depth);
	return 0;
}
