/*
 * Page faults that samples misrepresent: the kernel starts an event with a frequency at period 1
 * and adapts. The few faults of most threads are one sample each, and the many faults of one thread
 * are few samples.
 *
 *	uneven THREADS PAGES BULK
 *
 * Has THREADS threads and prints "ready PID". Then, for a line on stdin, the threads in turn touch
 * PAGES new pages each in few_faults(), and finally the first thread touches BULK new pages in
 * many_faults(). It prints "done" and ends with stdin.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define THREADS_MAX 10000

static sem_t go, went;
static long pages;
static volatile char *memory;

__attribute__((noinline)) static void few_faults(volatile char *p)
{
	for (long i = 0; i < pages; i++)
		p[i * PAGE] = 1;
}

__attribute__((noinline)) static void many_faults(volatile char *p, long n)
{
	for (long i = 0; i < n; i++)
		p[i * PAGE] = 1;
}

static void *run(void *number)
{
	sem_wait(&go);
	few_faults(memory + (long)number * pages * PAGE);
	sem_post(&went);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 0, bulk = argc > 3 ? atol(argv[3]) : 0;
	pthread_t tid[THREADS_MAX];
	size_t len;

	pages = argc > 2 ? atol(argv[2]) : 0;
	if (argc != 4 || threads < 1 || threads > THREADS_MAX || pages < 1 || bulk < 1)
		return 2;
	len = (size_t)(threads * pages + bulk) * PAGE;
	memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED || madvise((void *)memory, len, MADV_NOHUGEPAGE) || sem_init(&go, 0, 0) || sem_init(&went, 0, 0))
		return 2;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&tid[i], NULL, run, (void *)i))
			return 2;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	for (long i = 0; i < threads; i++) {
		sem_post(&go);
		sem_wait(&went);
	}
	many_faults(memory + threads * pages * PAGE, bulk);
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (long i = 0; i < threads; i++)
		pthread_join(tid[i], NULL);
	return 0;
}
