/*
 * A process that has to wait for a CPU after it was woken, for a time that it knows.
 *
 *	queued ROUNDS CGROUP
 *
 * Two processes share one CPU. "holder" has realtime priority: it wakes "late", computes on for a while,
 * and sleeps. Until then "late", which is in the cgroup of the folder CGROUP, cannot run. It waits in
 * wait_short before holder computes for 1 ms, and in wait_long before 6 ms, in turn.
 *
 * Prints "late PID" and begins with the first line on standard input. Then it prints, for each way,
 * "WAY LOW HIGH", ns: of all rounds together, late was ready without a CPU for at least LOW and at most
 * HIGH. It ends with standard input. Status 77: it may not have realtime priority.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000l

struct shared {
	atomic_int round;	/* what late waits for */
	atomic_int ready;	/* late has dealt with all rounds before it */
	bool woken;		/* holder found it asleep, or about to sleep */
	/* Around the call that wakes it, and when holder has computed. */
	uint64_t before, after, until;
	uint64_t low[2], high[2];
};

static struct shared *sh;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static long preemptions(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_nivcsw;
}

#define WAY __attribute__((noinline, noclone, noipa)) static

WAY long futex(int op, int value)
{
	long rc = syscall(SYS_futex, &sh->round, op, value, NULL, NULL, 0);

	__asm__ volatile("");
	return rc;
}

WAY void wait_short(int round)
{
	while (sh->round == round)
		futex(FUTEX_WAIT, round);
	__asm__ volatile("");
}

WAY void wait_long(int round)
{
	while (sh->round == round)
		futex(FUTEX_WAIT, round);
	__asm__ volatile("" ::: "memory");
}

static void late(void)
{
	for (int round = 0;; round++) {
		const long before = preemptions();
		uint64_t at;

		sh->ready = round;
		(round % 2 ? wait_long : wait_short)(round);
		at = now();
		if (!sh->woken)
			continue;
		sh->high[round % 2] += at - sh->before;
		/* If it was preempted before it slept, that is another kind of waiting. */
		if (preemptions() == before)
			sh->low[round % 2] += sh->until - sh->after;
	}
}

static void hold(int rounds)
{
	const struct timespec pause = { 0, 8 * MS };

	for (int round = 0; round < rounds; round++) {
		do
			nanosleep(&pause, NULL);
		while (sh->ready < round);
		sh->before = now();
		sh->round = round + 1;
		sh->woken = futex(FUTEX_WAKE, 1) == 1;
		sh->after = now();
		do
			sh->until = now();
		while (sh->until < sh->after + (uint64_t)(round % 2 ? 6 * MS : MS));
	}
	do
		nanosleep(&pause, NULL);
	while (sh->ready < rounds);
}

static bool move_to(const char *cgroup)
{
	FILE *f;

	if (chdir(cgroup))
		return false;
	f = fopen("cgroup.procs", "w");
	return f && fputs("0\n", f) > 0 && !fclose(f);
}

int main(int argc, char **argv)
{
	const struct sched_param fifo = { .sched_priority = 1 };
	cpu_set_t cpus;
	int cpu = 0;
	pid_t pid;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 3 || sh == MAP_FAILED || sched_getaffinity(0, sizeof(cpus), &cpus)) {
		fprintf(stderr, "usage: queued ROUNDS CGROUP\n");
		return 2;
	}
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "late");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!move_to(argv[2])) {
			perror(argv[2]);
			_exit(1);
		}
		late();
	}
	prctl(PR_SET_NAME, "holder");
	if (sched_setscheduler(0, SCHED_FIFO, &fifo)) {
		perror("queued: SCHED_FIFO");
		return 77;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("late %d\n", (int)pid);
	if (getchar() == EOF)
		return 1;
	hold(atoi(argv[1]));
	printf("wait_short %lu %lu\nwait_long %lu %lu\n", sh->low[0], sh->high[0], sh->low[1], sh->high[1]);
	while (getchar() != EOF)
		;
	return 0;
}
