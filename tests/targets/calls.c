/*
 * Makes system calls and knows how many: an oracle for a recorder's count of them.
 *
 *	calls N [CHILDREN [RATE]]
 *
 * Prints "ready PID". Then, for each line on stdin, it calls getppid(2) N times, and so do CHILDREN
 * forked children, one after the other; it prints "calls M", the number of calls in all. RATE: calls
 * per second; it computes in between. Without a rate it calls as fast as it can. Nothing else in it
 * calls getppid(2).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline)) static void call(long n, long rate)
{
	const uint64_t each = rate ? 1000000000ull / (uint64_t)rate : 0;
	uint64_t next = now();

	for (long i = 0; i < n; i++) {
		syscall(SYS_getppid);
		for (next += each; each && now() < next;)
			;
	}
}

static void say(const char *what, long n)
{
	printf("%s %ld\n", what, n);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 0, children = argc > 2 ? atol(argv[2]) : 0, rate = argc > 3 ? atol(argv[3]) : 0;
	char c;

	if (n <= 0)
		return 2;
	say("ready", (long)getpid());
	while (read(STDIN_FILENO, &c, 1) == 1) {
		call(n, rate);
		for (long i = 0; i < children; i++) {
			pid_t pid = fork();

			if (!pid) {
				call(n, rate);
				_exit(0);
			}
			if (pid < 0 || waitpid(pid, NULL, 0) != pid)
				return 2;
		}
		say("calls", n * (1 + children));
	}
	return 0;
}
