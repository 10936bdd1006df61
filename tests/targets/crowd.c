/*
 * Very many threads or containers, each of which works a little and sleeps.
 *
 *	crowd threads N				N threads, each with a call chain of its own
 *	crowd containers N CGROUP [WHAT]	N processes, each in a cgroup CGROUP/c<number> that
 *						it makes, and in its own mount and PID namespace
 *						(WHAT "cgroups": only in the cgroup)
 *
 * Prints "ready" when all exist. On SIGTERM, SIGINT or SIGHUP, or when its parent ends, it ends
 * them, removes the cgroups and exits. A thread's chain spells the bits of its number: main/thread
 * -> left|right -> left|right ...
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CROWD_MAX 20000
#define STACK_BYTES 65536
#define BITS 12
#define BURN_NS 200000

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline, noclone)) static uint64_t burn(uint64_t x)
{
	uint64_t end = cpu_ns() + BURN_NS;

	while (cpu_ns() < end)
		for (int i = 0; i < 2000; i++) {
			x = x * 6364136223846793005ul + 1442695040888963407ul;
			__asm__ volatile("" : "+r"(x));
		}
	return x;
}

static uint64_t left(uint64_t x, unsigned int path, int bits);
static uint64_t right(uint64_t x, unsigned int path, int bits);

#define BRANCH(name)                                                                               \
	__attribute__((noinline, noclone)) static uint64_t name(uint64_t x, unsigned int path,     \
								int bits)                          \
	{                                                                                          \
		volatile uint64_t local = x ^ path;                                                \
		uint64_t r;                                                                        \
                                                                                                   \
		if (!bits)                                                                         \
			r = burn(x);                                                               \
		else if (path & 1)                                                                 \
			r = right(x + 1, path >> 1, bits - 1);                                     \
		else                                                                               \
			r = left(x + 1, path >> 1, bits - 1);                                      \
		__asm__ volatile("" ::: "memory");                                                 \
		return r + local;                                                                  \
	}
BRANCH(left)
BRANCH(right)

/* One of @n: together they keep the CPUs half busy, so that other programs run, too. */
static void live(unsigned int number, int n)
{
	uint64_t x = number, pause = 2 * (uint64_t)n * BURN_NS / (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct timespec ts = { (time_t)(pause / 1000000000u), (long)(pause % 1000000000u) };

	for (;;) {
		x = left(x, number, BITS);
		nanosleep(&ts, NULL);
	}
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int nthreads;

static void *thread(void *arg)
{
	/* Nothing works until all exist: threads that work would delay the creation of the rest. */
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	live((unsigned int)(uintptr_t)arg, nthreads);
	return NULL;
}

static int threads(int n)
{
	pthread_attr_t attr;
	pthread_t tid;

	nthreads = n;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < n; i++) {
		int err = pthread_create(&tid, &attr, thread, (void *)(uintptr_t)i);

		if (err) {
			fprintf(stderr, "crowd: thread %d: %s\n", i, strerror(err));
			return 1;
		}
	}
	pthread_mutex_unlock(&gate);
	return 0;
}

static const char *cgroup_root;

static void cgroup_path(char *path, size_t size, int i, const char *file)
{
	snprintf(path, size, "%s/c%04d%s", cgroup_root, i, file);
}

/* In the child: enter the cgroup, then exec a program, as a container does. */
static int enter(int i, int n)
{
	char path[4096], number[16], all[16];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cgroup_path(path, sizeof(path), i, "/cgroup.procs");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(path);
		return 1;
	}
	snprintf(number, sizeof(number), "%d", i);
	snprintf(all, sizeof(all), "%d", n);
	execl("/proc/self/exe", "crowd", "one", number, all, (char *)NULL);
	return 1;
}

static int containers(int n, const char *what, pid_t *pids)
{
	int flags = !strcmp(what, "cgroups") ? 0 : CLONE_NEWNS | CLONE_NEWPID;
	char path[4096];

	for (int i = 0; i < n; i++) {
		cgroup_path(path, sizeof(path), i, "");
		if (mkdir(path, 0755) && errno != EEXIST) {
			perror(path);
			return 1;
		}
		pids[i] = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
		if (pids[i] < 0) {
			perror("crowd: clone");
			return 1;
		}
		if (!pids[i])
			_exit(enter(i, n));
	}
	return 0;
}

static void clean(int n, const pid_t *pids)
{
	char path[4096];

	for (int i = 0; i < n; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	for (int i = 0; i < n; i++) {
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
		cgroup_path(path, sizeof(path), i, "");
		/* The last process ends a moment before its cgroup counts as empty. */
		for (int t = 0; rmdir(path) && errno == EBUSY && t < 1000; t++)
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	static pid_t pids[CROWD_MAX];
	int n = argc > 2 ? atoi(argv[2]) : 0, rc, signo;
	sigset_t ends;

	if (argc == 4 && !strcmp(argv[1], "one"))
		live((unsigned int)n, atoi(argv[3]));
	if (n < 1 || n > CROWD_MAX)
		return 2;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	cgroup_root = argc > 3 ? argv[3] : NULL;
	rc = cgroup_root ? containers(n, argc > 4 ? argv[4] : "", pids) : threads(n);
	if (!rc) {
		puts("ready");
		fflush(stdout);
		sigwait(&ends, &signo);
	}
	if (cgroup_root)
		clean(n, pids);
	/* Not by return: the threads continue. */
	_exit(rc);
}
