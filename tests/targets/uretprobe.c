/*
 * main -> u_loop -> u_outer -> u_probed -> u_handler -> u_leaf, for return probes: uretprobe HOW
 * SECS, for SECS of CPU time.
 *
 *	plain		as above
 *	recurse		u_probed calls itself three times
 *	twice		u_outer calls u_probed at two places
 *	pointer		u_outer calls u_probed through a pointer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define KEEP() __asm__ volatile("" ::: "memory")

static unsigned long sum;
static char how;
static void (*volatile pointer)(int);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE void u_leaf(void)
{
	for (int i = 0; i < 1000000; i++)
		sum = sum * 6364136223846793005ul + 1442695040888963407ul;
}

NOINLINE void u_handler(void)
{
	u_leaf();
	KEEP();
}

NOINLINE void u_probed(int depth)
{
	if (depth)
		u_probed(depth - 1);
	else
		u_handler();
	KEEP();
}

NOINLINE void u_outer(void)
{
	if (how == 'p' + 1) {
		pointer(0);
		KEEP();
		return;
	}
	u_probed(how == 'r' ? 3 : 0);
	KEEP();
	if (how == 't')
		u_probed(0);
	KEEP();
}

NOINLINE void u_loop(double seconds)
{
	double end = now() + seconds;

	do {
		u_outer();
		KEEP();
	} while (now() < end);
}

int main(int argc, char **argv)
{
	how = argv[1][0];
	if (!strcmp(argv[1], "pointer"))
		how = 'p' + 1;
	pointer = u_probed;
	u_loop(argc > 2 ? atof(argv[2]) : 1);
	KEEP();
	return 0;
}
