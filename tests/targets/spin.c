/*
 * Burns CPU at the end of a call chain that it declares itself:
 *
 *	main -> PREFIX_outer -> PREFIX_middle -> PREFIX_inner -> PREFIX_leaf
 *
 * -DP=... sets PREFIX. "spin --chain" prints the names, root first, for the tests to compare with.
 * Options: spin [--cpu] [--threads N] [--kernel] [--rest] SECONDS. With --threads each thread runs
 * PREFIX_thread and the same chain below it. With --kernel the leaf spends its time in system
 * calls. With --cpu the seconds are CPU time. With --rest PREFIX_outer sleeps for 10 ms between
 * calls: many can run at once and leave the CPUs to others.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CAT2(a, b) a##_##b
#define CAT(a, b) CAT2(a, b)
#define F(name) CAT(P, name)
#define STR2(x) #x
#define STR(x) STR2(x)

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
/* Code after a call, so that no call becomes a jump and every function stays on the stack. */
#define KEEP() __asm__ volatile("" ::: "memory")

static clockid_t clock_id = CLOCK_MONOTONIC;

static double now(void)
{
	struct timespec ts;

	clock_gettime(clock_id, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int use_kernel, rests;
static int zero_fd = -1;

NOINLINE unsigned long F(leaf)(unsigned long n)
{
	unsigned long x = n | 1;
	static char buf[65536];

	if (use_kernel) {
		for (int i = 0; i < 20; i++)
			if (read(zero_fd, buf, sizeof(buf)) < 0)
				abort();
		return x;
	}
	for (unsigned long i = 0; i < 400000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

NOINLINE unsigned long F(inner)(unsigned long n, unsigned long salt)
{
	unsigned long r = F(leaf)(n ^ salt);

	KEEP();
	return r + salt;
}

NOINLINE unsigned long F(middle)(unsigned long n)
{
	volatile char pad[200];
	unsigned long r;

	pad[n % sizeof(pad)] = (char)n;
	r = F(inner)(n, 7);
	KEEP();
	return r + pad[n % sizeof(pad)];
}

NOINLINE unsigned long F(outer)(double until)
{
	unsigned long sum = 0;

	do {
		sum += F(middle)(sum);
		KEEP();
		if (rests)
			nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	} while (now() < until);
	return sum;
}

static double until;

NOINLINE void *F(thread)(void *arg)
{
	unsigned long *res = arg;

	*res = F(outer)(until);
	KEEP();
	return NULL;
}

int main(int argc, char **argv)
{
	int nthreads = 0;
	unsigned long res[64], sum = 0;
	pthread_t tid[64];

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--chain")) {
			puts("main;" STR(P) "_outer;" STR(P) "_middle;" STR(P) "_inner;" STR(P) "_leaf");
			return 0;
		} else if (!strcmp(argv[i], "--kernel")) {
			use_kernel = 1;
			zero_fd = open("/dev/zero", O_RDONLY);
		} else if (!strcmp(argv[i], "--rest")) {
			rests = 1;
		} else if (!strcmp(argv[i], "--cpu")) {
			clock_id = CLOCK_PROCESS_CPUTIME_ID;
		} else if (!strcmp(argv[i], "--threads") && i + 1 < argc) {
			nthreads = atoi(argv[++i]);
			if (nthreads < 0 || nthreads > 64)
				return 2;
		} else {
			until = now() + atof(argv[i]);
		}
	}
	for (int i = 0; i < nthreads; i++)
		if (pthread_create(&tid[i], NULL, F(thread), &res[i]))
			return 2;
	if (!nthreads)
		sum = F(outer)(until);
	KEEP();
	for (int i = 0; i < nthreads; i++) {
		pthread_join(tid[i], NULL);
		sum += res[i];
	}
	return sum == 42 ? 3 : 0;
}
