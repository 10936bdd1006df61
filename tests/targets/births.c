/*
 * births SECONDS: threads that end at once, so that many samples hit a thread that just started.
 * The seconds are CPU time: a busy machine gives as many samples.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

__attribute__((noinline)) static void *births_thread(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	pthread_t t[16];

	do {
		for (int i = 0; i < 16; i++)
			if (pthread_create(&t[i], NULL, births_thread, NULL))
				return 1;
		for (int i = 0; i < 16; i++)
			pthread_join(t[i], NULL);
	} while (now() < until);
	return 0;
}
