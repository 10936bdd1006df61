/*
 * Waits in known ways, and measures each wait with a clock of its own. Prints, for each thread, a
 * line "NAME TID WAY NS COUNT": how long it was in that way, as it saw it, and how often. The
 * time in a way includes entering and leaving the kernel. Then a line "NAME TID life NS CPU": from
 * its beginning to its end, and its CPU time by CLOCK_THREAD_CPUTIME_ID.
 *
 *	waits [--count FILE] [--work US] SECONDS WHAT...
 *
 * --count FILE: counts how often the ball of "pingpong" is handed over, for units --rate.
 * --work US: whoever has the ball computes before it hands it over, for about US microseconds of CPU
 * time when nothing else runs. It is a fixed number of steps, measured when the program starts.
 *
 * alternate	one thread that waits 2 ms on a futex and 7 ms in nanosleep, in turn
 * pingpong	two threads that hand a futex to each other as fast as they can
 * apart		the same, each on a CPU of its own
 * sleeper	one thread that sleeps all the time
 * pipe		one thread that reads a pipe, into which another writes every 3 ms
 * poll		one thread in epoll_wait, which a timer wakes every 5 ms
 * runner	one thread that computes
 *
 * Each way is a function of its own: wait_futex, wait_nanosleep, wait_pingpong, ...
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000l

/* As in units.c. */
struct counter {
	_Atomic uint64_t units;
	char pad[64 - sizeof(uint64_t)];
};
#define COUNTERS 256

static atomic_bool stop;
static struct counter *counters;	/* NULL: nobody wants to know */
static long work;			/* steps before a hand-over */
static _Thread_local uint64_t born;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

struct tally {
	uint64_t ns, n;
};

static void say(const char *way, const struct tally *t)
{
	char name[17] = "";

	prctl(PR_GET_NAME, name);
	printf("%s %ld %s %" PRIu64 " %" PRIu64 "\n", name, syscall(SYS_gettid), way, t->ns, t->n);
}

static void begin(const char *name)
{
	born = now();
	prctl(PR_SET_NAME, name);
}

static void end(void)
{
	say("life", &(struct tally){ now() - born, clock_ns(CLOCK_THREAD_CPUTIME_ID) });
}

/* Frames that are not merged with their callers, and stay on the stack while they wait. */
#define WAY __attribute__((noinline, noclone, noipa)) static

WAY long futex(atomic_int *at, int op, int value, const struct timespec *timeout)
{
	long rc = syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);

	__asm__ volatile("");
	return rc;
}

WAY void wait_futex(struct tally *t, long ns)
{
	static atomic_int never;
	const struct timespec ts = { 0, ns };
	const uint64_t from = now();

	futex(&never, FUTEX_WAIT, 0, &ts);
	t->ns += now() - from;
	t->n++;
}

WAY void wait_nanosleep(struct tally *t, long ns)
{
	const struct timespec ts = { 0, ns };
	const uint64_t from = now();

	nanosleep(&ts, NULL);
	t->ns += now() - from;
	t->n++;
}

static void *alternate(void *unused)
{
	struct tally on_futex = { 0 }, asleep = { 0 };

	begin("alternate");
	while (!stop) {
		wait_futex(&on_futex, 2 * MS);
		wait_nanosleep(&asleep, 7 * MS);
	}
	say("wait_futex", &on_futex);
	say("wait_nanosleep", &asleep);
	end();
	return unused;
}

static atomic_int ball;

WAY void wait_pingpong(struct tally *t, int mine)
{
	const uint64_t from = now();
	const struct timespec ts = { 0, 100 * MS };	/* the other may have ended */

	while (ball != mine && !stop)
		futex(&ball, FUTEX_WAIT, !mine, &ts);
	t->ns += now() - from;
	t->n++;
}

static void do_work(long steps)
{
	for (volatile long i = 0; i < steps; i++)
		;
}

/* Sets @work to so many steps that they take @us microseconds: the best of some tries. */
static void measure_work(double us)
{
	const long steps = 1000000;
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		const uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t took;

		do_work(steps);
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		best = took < best ? took : best;
	}
	work = (long)(us * 1000 * (double)steps / (double)(best ? best : 1));
}

static void *pingpong(void *arg)
{
	const int mine = (int)(intptr_t)arg;
	struct tally t = { 0 };

	begin(mine ? "pong" : "ping");
	while (!stop) {
		wait_pingpong(&t, mine);
		do_work(work);
		ball = !mine;
		if (counters)
			atomic_fetch_add_explicit(&counters[mine].units, 1, memory_order_relaxed);
		futex(&ball, FUTEX_WAKE, 1, NULL);
	}
	say("wait_pingpong", &t);
	end();
	return NULL;
}

static void *apart(void *arg)
{
	cpu_set_t all, one;
	int cpu = arg ? CPU_SETSIZE - 1 : 0;

	if (!sched_getaffinity(0, sizeof(all), &all) && CPU_COUNT(&all)) {
		while (!CPU_ISSET(cpu, &all))
			cpu += arg ? -1 : 1;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	return pingpong(arg);
}

WAY void wait_sleeper(struct tally *t, double seconds)
{
	const struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	const uint64_t from = now();

	nanosleep(&ts, NULL);
	t->ns += now() - from;
	t->n++;
}

static void *sleeper(void *arg)
{
	struct tally t = { 0 };

	begin("sleeper");
	wait_sleeper(&t, *(const double *)arg);
	say("wait_sleeper", &t);
	end();
	return NULL;
}

static int ends[2];

WAY void wait_pipe(struct tally *t)
{
	const uint64_t from = now();
	char c;

	if (read(ends[0], &c, 1) != 1)
		abort();
	t->ns += now() - from;
	t->n++;
}

static void *reader(void *unused)
{
	struct tally t = { 0 };

	begin("reader");
	while (!stop)
		wait_pipe(&t);
	say("wait_pipe", &t);
	end();
	return unused;
}

static void *writer(void *unused)
{
	const struct timespec ts = { 0, 3 * MS };

	begin("writer");
	while (!stop) {
		nanosleep(&ts, NULL);
		if (write(ends[1], "x", 1) != 1)
			abort();
	}
	/* The reader may wait for one more. */
	if (write(ends[1], "x", 1) != 1)
		abort();
	end();
	return unused;
}

WAY void wait_epoll(struct tally *t, int ep, int timer)
{
	const uint64_t from = now();
	struct epoll_event ev;
	uint64_t n;

	if (epoll_wait(ep, &ev, 1, 1000) == 1 && read(timer, &n, sizeof(n)) != sizeof(n))
		abort();
	t->ns += now() - from;
	t->n++;
}

static void *poller(void *unused)
{
	const struct itimerspec every = { { 0, 5 * MS }, { 0, 5 * MS } };
	int ep = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN };
	struct tally t = { 0 };

	begin("poller");
	if (ep < 0 || timer < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, timer, &ev) || timerfd_settime(timer, 0, &every, NULL))
		abort();
	while (!stop)
		wait_epoll(&t, ep, timer);
	say("wait_epoll", &t);
	end();
	return unused;
}

WAY void compute(struct tally *t)
{
	const uint64_t from = now();

	for (volatile int i = 0; i < 100000; i++)
		;
	t->ns += now() - from;
	t->n++;
}

static void *runner(void *unused)
{
	struct tally t = { 0 };

	begin("runner");
	while (!stop)
		compute(&t);
	say("compute", &t);
	end();
	return unused;
}

static bool count_in(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0 || ftruncate(fd, COUNTERS * sizeof(*counters)))
		return false;
	counters = mmap(NULL, COUNTERS * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return counters != MAP_FAILED;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*fn[2])(void *);
	} whats[] = {
		{ "alternate", { alternate } }, { "pingpong", { pingpong, pingpong } }, { "apart", { apart, apart } }, { "sleeper", { sleeper } },
		{ "pipe", { reader, writer } }, { "poll", { poller } }, { "runner", { runner } },
	};
	pthread_t threads[64];
	double seconds;
	struct timespec ts;
	int n = 0;

	for (; argc > 2 && (!strcmp(argv[1], "--work") || !strcmp(argv[1], "--count")); argc -= 2, argv += 2) {
		if (argv[1][2] == 'w') {
			measure_work(atof(argv[2]));
		} else if (!count_in(argv[2])) {
			perror(argv[2]);
			return 1;
		}
	}
	seconds = argc > 1 ? atof(argv[1]) : 0;
	ts = (struct timespec){ (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	if (argc < 3 || argc > 20 || seconds <= 0 || pipe(ends)) {
		fprintf(stderr, "usage: waits [--count FILE] [--work US] SECONDS alternate|pingpong|apart|sleeper|pipe|poll|runner...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 2; i < argc; i++) {
		bool known = false;

		for (size_t k = 0; k < sizeof(whats) / sizeof(*whats); k++) {
			for (intptr_t f = 0; f < 2 && !strcmp(argv[i], whats[k].name) && whats[k].fn[f]; f++) {
				void *arg = whats[k].fn[f] == sleeper ? (void *)&seconds : (void *)f;

				if (pthread_create(&threads[n++], NULL, whats[k].fn[f], arg))
					return 1;
				known = true;
			}
		}
		if (!known) {
			fprintf(stderr, "waits: unknown '%s'\n", argv[i]);
			return 2;
		}
	}
	nanosleep(&ts, NULL);
	stop = true;
	while (n)
		pthread_join(threads[--n], NULL);
	return 0;
}
