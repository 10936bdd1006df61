/*
 * renames SECONDS: a process whose threads have their own names, whose main thread renames itself
 * half-way, and a forked child that renames itself without an exec. Prints the child's PID, then
 * runs for SECONDS of each thread's CPU time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds;

__attribute__((noinline)) static void burn(double s)
{
	struct timespec ts;
	double until = 0;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		until = until ? until : ts.tv_sec + ts.tv_nsec / 1e9 + s;
	} while (ts.tv_sec + ts.tv_nsec / 1e9 < until);
}

static void *thread(void *name)
{
	if (name)
		prctl(PR_SET_NAME, name);
	burn(seconds);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t named, unnamed;
	pid_t child;

	seconds = argc > 1 ? atof(argv[1]) : 1;
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "zygote-child");
		burn(seconds);
		return 0;
	}
	printf("%d\n", (int)child);
	fflush(stdout);
	prctl(PR_SET_NAME, "main-before");
	if (child < 0 || pthread_create(&named, NULL, thread, "Attach API") ||
	    pthread_create(&unnamed, NULL, thread, NULL))
		return 1;
	burn(seconds / 2);
	prctl(PR_SET_NAME, "main-after");
	burn(seconds / 2);
	pthread_join(named, NULL);
	pthread_join(unnamed, NULL);
	return wait(NULL) != child;
}
