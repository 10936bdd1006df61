/*
 * Work that counts itself, so that a benchmark can tell what a recorder costs the programs it
 * measures.
 *
 *	units FILE SECONDS [THREADS]	works; counts in FILE, one counter for each thread
 *	units --rate FILE SECONDS	prints by how many units per second the counters of FILE
 *					grow
 *
 * One unit is a walk down and up a stack of 20 to 40 frames with some arithmetic on the way, about
 * 10 us.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 256
#define LINE 64	/* bytes: each counter has its own cache line */

struct counters {
	struct {
		uint64_t units;
		char pad[LINE - sizeof(uint64_t)];
	} thread[THREADS_MAX];
};

static struct counters *counters;
static double until;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

__attribute__((noinline, noclone)) static uint64_t step(uint64_t x, int depth)
{
	volatile char local[48];
	uint64_t r;

	local[x % sizeof(local)] = (char)x;
	for (int i = 0; i < 100; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	r = depth > 0 ? step(x, depth - 1) : x;
	/* Code after the call, so that the frame stays. */
	__asm__ volatile("" ::: "memory");
	return r + (uint64_t)local[x % sizeof(local)];
}

static void *work(void *arg)
{
	uint64_t *units = arg, x = (uintptr_t)arg;

	while (now() < until) {
		x = step(x, 20 + (int)(*units % 20));
		__atomic_store_n(units, *units + 1, __ATOMIC_RELAXED);
	}
	return (void *)(uintptr_t)x;
}

static uint64_t sum(void)
{
	uint64_t n = 0;

	for (int i = 0; i < THREADS_MAX; i++)
		n += __atomic_load_n(&counters->thread[i].units, __ATOMIC_RELAXED);
	return n;
}

static int print_rate(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	double begin = now(), end;
	uint64_t before = sum(), after;

	nanosleep(&ts, NULL);
	after = sum();
	end = now();
	printf("%.0f\n", (double)(after - before) / (end - begin));
	return 0;
}

int main(int argc, char **argv)
{
	int rate = argc == 4 && !strcmp(argv[1], "--rate");
	const char *file = argv[1 + rate];
	pthread_t tid[THREADS_MAX];
	int fd, n;

	if (argc < 3)
		return 2;
	fd = open(file, O_RDWR | (rate ? 0 : O_CREAT), 0600);
	if (fd < 0 || (!rate && ftruncate(fd, sizeof(*counters)))) {
		perror(file);
		return 1;
	}
	counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED) {
		perror(file);
		return 1;
	}
	if (rate)
		return print_rate(atof(argv[3]));
	n = argc > 3 ? atoi(argv[3]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (n < 1 || n > THREADS_MAX)
		return 2;
	until = now() + atof(argv[2]);
	for (int i = 0; i < n; i++)
		if (pthread_create(&tid[i], NULL, work, &counters->thread[i].units))
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(tid[i], NULL);
	return 0;
}
