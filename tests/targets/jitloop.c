/*
 * Runs code that is in no file: main -> run_jit -> a loop with a frame pointer in anonymous memory,
 * named in /tmp/perf-PID.map as a JIT would do.
 *
 *	jitloop SECONDS NAME [MODE [COMM]]
 *
 * MODE:
 *
 *	map	(default) writes the map
 *	nomap	does not write it
 *	uid	changes the owner of map and process to 1000
 *	chown	changes only the owner of the map
 *	fork	two children run the code
 *	threads	threads of 50 ms of CPU time run the code
 *	again	writes the map, and on SIGUSR1 appends the name "reused" for the same address
 *	memfd	has the code in a memfd, mapped once to write and once to run, as .NET does
 *	late	writes the map after half of the time, and removes it at the end
 *	apart	has the code at another address than all other modes, and appends to an existing map
 *	rooted	makes $TMPDIR its root after half of the time, and writes the map then
 *	held	writes the map below $TMPDIR and keeps it open
 *	end	writes the map at the end, as a JVM may
 *	exec	for the second half, or from SIGUSR2 on, runs itself as "nomap" with COMM "after",
 *		with code at the same address
 *	remap	as exec, but as "map" with the name "renamed"
 *	lives	three processes run the code in turn, each PID 1 of a PID namespace: "before" with a
 *		map, "after" 20 ms later with a map that says "renamed", and "last" without one
 *
 * COMM names the thread.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* push %rbp; mov %rsp,%rbp; mov $0x800000,%ecx; 1: dec %ecx; jne 1b; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0, 0, 0x80, 0, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };
static void (*jit)(void);
static volatile sig_atomic_t asked, hurried;
static FILE *held;	/* a map that is kept open */

static clockid_t run_clock = CLOCK_MONOTONIC;	/* of run_jit() */

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void on_usr2(int sig)
{
	hurried = sig;
}

static void on_usr1(int sig)
{
	asked = sig;
}

static FILE *write_map_in(const char *dir, const char *mode, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/perf-%d.map", dir, (int)getpid());
	f = fopen(path, mode);
	if (!f)
		exit(2);
	fprintf(f, "%lx %zx %s\n", (unsigned long)jit, sizeof(code), name);
	fflush(f);
	return f;
}

static void write_map(const char *mode, const char *name)
{
	fclose(write_map_in("/tmp", mode, name));
}

__attribute__((noinline, noclone)) void run_jit(double secs)
{
	double end = now(run_clock) + secs;

	while (now(run_clock) < end && !hurried) {
		jit();
		if (asked) {
			asked = 0;
			write_map("a", "reused");
		}
	}
}

/* The address of the code, the same in every run. */
static void *place(const char *mode)
{
	void *at = (void *)(strcmp(mode, "apart") ? 0x200000000000 : 0x210000000000);
	int fd;

	if (strcmp(mode, "memfd"))
		return mmap(at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = memfd_create("doublemapper", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 65536) || pwrite(fd, code, sizeof(code), 4096) < 0)
		exit(2);
	return mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 4096);
}

static void *thread(void *arg)
{
	run_jit(0.05);
	__asm__ volatile("" ::: "memory");
	return arg;
}

static void in_children(double secs)
{
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			run_jit(secs);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

static void in_lives(double secs, const char *name)
{
	static const char *const comms[] = { "before", "after", "last" };

	for (int i = 0; i < 3; i++) {
		long child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, 0ul);

		if (child < 0)
			exit(3);
		if (!child) {
			prctl(PR_SET_NAME, comms[i]);
			if (i < 2)
				write_map("w", i ? "renamed" : name);
			run_jit(secs / 3);
			_exit(0);
		}
		wait(NULL);
		usleep(20000);
	}
}

static void in_threads(double secs)
{
	double end = now(CLOCK_MONOTONIC) + secs;
	pthread_t tid[2];

	/* The cost of starting a thread does not depend on its share of a CPU. */
	run_clock = CLOCK_THREAD_CPUTIME_ID;
	while (now(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < 2; i++)
			if (pthread_create(&tid[i], NULL, thread, NULL))
				exit(2);
		for (int i = 0; i < 2; i++)
			pthread_join(tid[i], NULL);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "map";
	double secs = atof(argv[1]);
	char path[64], half[32];
	void *p;

	p = place(mode);
	if (argc < 3 || p == MAP_FAILED)
		return 2;
	if (strcmp(mode, "memfd"))
		memcpy(p, code, sizeof(code));
	jit = (void (*)(void))p;
	if (argc > 4)
		prctl(PR_SET_NAME, argv[4]);
	signal(SIGUSR1, on_usr1);
	signal(SIGUSR2, on_usr2);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	if (!strcmp(mode, "held"))
		held = write_map_in(getenv("TMPDIR"), "w", argv[2]);
	else if (strcmp(mode, "nomap") && strcmp(mode, "late") && strcmp(mode, "rooted") && strcmp(mode, "end") && strcmp(mode, "lives"))
		write_map(strcmp(mode, "apart") ? "w" : "a", argv[2]);
	if (!strcmp(mode, "chown") && chown(path, 12345, 12345))
		return 2;
	if (!strcmp(mode, "uid") && (chown(path, 1000, 1000) || setgid(1000) || setuid(1000)))
		return 2;
	if (!strcmp(mode, "fork"))
		in_children(secs);
	else if (!strcmp(mode, "lives"))
		in_lives(secs, argv[2]);
	else if (!strcmp(mode, "threads"))
		in_threads(secs);
	else if (!strcmp(mode, "late") || !strcmp(mode, "rooted") || !strcmp(mode, "exec") || !strcmp(mode, "remap"))
		run_jit(secs / 2);
	else
		run_jit(secs);
	if (!strcmp(mode, "late")) {
		write_map("w", argv[2]);
		run_jit(secs / 2);
		unlink(path);
	}
	if (!strcmp(mode, "rooted")) {
		if (chroot(getenv("TMPDIR")) || chdir("/"))
			return 2;
		write_map("w", argv[2]);
		run_jit(secs / 2);
	}
	if (!strcmp(mode, "end"))
		write_map("w", argv[2]);
	if (!strcmp(mode, "exec")) {
		snprintf(half, sizeof(half), "%f", secs / 2);
		execl("/proc/self/exe", "jitloop", half, argv[2], "nomap", "after", NULL);
		return 2;
	}
	if (!strcmp(mode, "remap")) {
		snprintf(half, sizeof(half), "%f", secs / 2);
		execl("/proc/self/exe", "jitloop", half, "renamed", "map", "after", NULL);
		return 2;
	}
	return 0;
}
