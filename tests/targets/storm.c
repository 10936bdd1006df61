/*
 * An exec storm like a parallel build's: on each CPU one process that starts PROGRAM again and
 * again.
 *
 *	storm SECONDS PROGRAM [ARGUMENT...]
 *
 * Prints how many it ran per second. PROGRAM must exit with status 0. SIGTERM ends it early, as if
 * the time were over.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* In shared memory. */
static struct {
	uint64_t count;
	int stop;
} *shared;

static void stop(int sig)
{
	(void)sig;
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run(double until, char **argv)
{
	while (now() < until && !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
		pid_t pid = vfork();
		int status;

		if (!pid) {
			execve(argv[0], argv, environ);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
		__atomic_add_fetch(&shared->count, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int n = (int)sysconf(_SC_NPROCESSORS_ONLN), rc = 0, status;
	double begin = now(), seconds = argc > 2 ? atof(argv[1]) : 0;

	if (seconds <= 0)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	signal(SIGTERM, stop);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(run(begin + seconds, argv + 2));
		if (pid < 0)
			rc = 1;
	}
	while (wait(&status) > 0)
		rc |= !!status;
	printf("%.0f\n", (double)shared->count / (now() - begin));
	return rc;
}
