/*
 * Preloaded into a recorder. FAULTY says what goes wrong with its regular files (but standard error)
 * and its clock:
 *
 *	eio:N		write(2) fails with EIO once N bytes are written
 *	short		write(2) writes one byte to 4 KiB at a time, and every third time only EINTR
 *	step:MS:S	MS ms after the first look, CLOCK_REALTIME is S seconds ahead (or behind)
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *fault(const char *name)
{
	const char *all = getenv("FAULTY");
	size_t len = strlen(name);

	return all && !strncmp(all, name, len) ? all + len : NULL;
}

static ssize_t really(int fd, const void *buf, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	return real(fd, buf, size);
}

static size_t written, calls;	/* by the one thread that writes the recording */

static ssize_t short_write(int fd, const void *buf, size_t size)
{
	size_t some = 1 + calls * calls * 2654435761u % 4096;

	if (++calls % 3 == 0) {
		errno = EINTR;
		return -1;
	}
	return really(fd, buf, size < some ? size : some);
}

ssize_t write(int fd, const void *buf, size_t size)
{
	const char *limit = fault("eio:");
	struct stat st;
	ssize_t n;

	if ((!limit && !fault("short")) || fd <= STDERR_FILENO || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return really(fd, buf, size);
	if (!limit)
		return short_write(fd, buf, size);
	if (written >= strtoul(limit, NULL, 10)) {
		errno = EIO;
		return -1;
	}
	n = really(fd, buf, size);
	written += n > 0 ? (size_t)n : 0;
	return n;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	static int64_t first;
	const char *step = fault("step:");
	struct timespec now;
	char *by;
	int64_t ms;
	int rc;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	rc = real(id, ts);
	if (rc || !step || id != CLOCK_REALTIME)
		return rc;
	real(CLOCK_MONOTONIC, &now);
	ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
	if (!first)
		first = ms;
	if (ms - first >= strtol(step, &by, 10))
		ts->tv_sec += strtol(by + 1, NULL, 10);
	return 0;
}
