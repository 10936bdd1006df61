#include "host/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "host/rawopen.h"
#include "host/procfs.h"

#define STAT_MAX 4096
/* For clock_wall_ns(): good enough, for a thread that may lose its CPU between two clocks. */
#define WALL_NS 100000
#define WALL_TRIES 16
#define NS_PER_SEC 1000000000ll
/* The kernel's own limit for an offset: KTIME_SEC_MAX / 2, include/linux/ktime.h. */
#define SECS_MAX (INT64_MAX / NS_PER_SEC / 2)

/*
 * How far the @clock of the process's namespace is ahead of the kernel's, in ns. @clock is the name
 * in timens_offsets.
 */
static int64_t shift_of(int procfd, const char *clock)
{
	char own[64], next[64], text[512];
	ssize_t len = readlinkat(procfd, "ns/time", own, sizeof(own)), n;
	long long secs, ns;
	const char *at;
	int fd;

	/*
	 * timens_offsets describes the namespace of future children. A process that created a
	 * namespace is not in it itself.
	 */
	if (len <= 0 || len >= (ssize_t)sizeof(own) ||
	    readlinkat(procfd, "ns/time_for_children", next, sizeof(next)) != len || memcmp(own, next, (size_t)len) != 0)
		return 0;
	fd = openat(procfd, "timens_offsets", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[MAX(n, (ssize_t)0)] = '\0';
	at = strstr(text, clock);
	if (!at || sscanf(at + strlen(clock), "%lld %lld", &secs, &ns) != 2 || secs < -SECS_MAX || secs > SECS_MAX ||
	    ns < 0 || ns >= NS_PER_SEC)
		return 0;
	return secs * NS_PER_SEC + ns;
}

int64_t clock_mono_shift(int procfd)
{
	return shift_of(procfd, "monotonic");
}

static int64_t own_shift, start_shift;

static int64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

int64_t clock_ticks_ns(uint64_t ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	return (int64_t)(ticks / hz * NS_PER_SEC + ticks % hz * NS_PER_SEC / hz);
}

/* Finds out which clock the kernel uses for start times, from our own start a moment ago. */
static int64_t shift_of_starts(int procfd, int64_t shift)
{
	int fd = openat(procfd, "stat", O_RDONLY | O_CLOEXEC), err;
	char *text = fd < 0 ? NULL : rawopen_slurp(fd, STAT_MAX, NULL, &err);
	int64_t age, kernels_age;
	uint64_t ticks;
	uint32_t ppid;
	bool ok = text && !procfs_stat_start(text, &ticks, &ppid);

	if (fd >= 0)
		close(fd);
	free(text);
	if (!ok)
		return 0;
	age = now_ns(CLOCK_BOOTTIME) - clock_ticks_ns(ticks);
	kernels_age = age - shift;
	/* No process starts in the future, and a tick is at most 10 ms. */
	return kernels_age >= -NS_PER_SEC / 100 && (age < -NS_PER_SEC / 100 || kernels_age < age) ? shift : 0;
}

static void read_own(void)
{
	int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int64_t boot;

	if (fd < 0)
		return;
	own_shift = clock_mono_shift(fd);
	boot = shift_of(fd, "boottime");
	start_shift = boot ? shift_of_starts(fd, boot) : 0;
	close(fd);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

uint64_t clock_mono_ns(void)
{
	pthread_once(&once, read_own);
	return (uint64_t)(now_ns(CLOCK_MONOTONIC) - own_shift);
}

uint64_t clock_raw_ns(void)
{
	pthread_once(&once, read_own);
	return (uint64_t)(now_ns(CLOCK_MONOTONIC_RAW) - own_shift);
}

uint64_t clock_thread_ns(void)
{
	return (uint64_t)now_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_starts_ns(void)
{
	pthread_once(&once, read_own);
	return now_ns(CLOCK_BOOTTIME) - start_shift;
}

int64_t clock_wall_ns(uint64_t time)
{
	int64_t before, real, passed, latest = INT64_MIN;

	for (int tries = 0; tries < WALL_TRIES; tries++) {
		before = (int64_t)clock_mono_ns();
		real = now_ns(CLOCK_REALTIME);
		passed = (int64_t)clock_mono_ns();
		latest = MAX(latest, real - (passed - (int64_t)time));
		if (passed - before < WALL_NS)
			break;
	}
	return latest;
}

int64_t clock_file_late_ns(void)
{
	struct timespec ts;

	if (clock_getres(CLOCK_REALTIME_COARSE, &ts))
		return 10000000;	/* 100 ticks per second, the fewest */
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}
