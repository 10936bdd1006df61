/*
 * mapslate FOLDER SECONDS: short processes, one after the other, of which each maps a new file of
 * FOLDER as code and computes. FOLDER is one of hungfs, which answers late.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* CPU time of one process, ns. */
#define COMPUTES 15000000

static volatile unsigned long total;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void one(const char *folder, int number)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/app%d", folder, number);
	fd = open(path, O_RDONLY);
	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	while (now(CLOCK_PROCESS_CPUTIME_ID) < COMPUTES / 1e9)
		for (unsigned long i = 0; i < 10000; i++)
			total += i * i;
	_exit(0);
}

int main(int argc, char **argv)
{
	const double end = now(CLOCK_MONOTONIC) + (argc == 3 ? atof(argv[2]) : 0);
	int number = 1, status = 0;

	for (; now(CLOCK_MONOTONIC) < end && !status; number++) {
		pid_t pid = fork();

		if (!pid)
			one(argv[1], number);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
	}
	return status != 0;
}
