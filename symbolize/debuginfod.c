/*
 * libdebuginfod (debuginfod_find_debuginfo(3)), loaded when it is asked for: it brings curl and all
 * that curl needs into the process, which must not be the price of a run without it.
 */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "stop.h"

#define LIBRARY "libdebuginfod.so.1"
/*
 * Without a byte for so long a server is given up. Big files come from archives that the server has
 * to unpack first, which it does within a second or two.
 */
#define SILENCE_NS	UINT64_C(5000000000)

struct debuginfod_client;

static struct {
	struct debuginfod_client *client;	/* NULL: off */
	int (*find)(struct debuginfod_client *c, const unsigned char *id, int len, char **path);
	uint64_t since;		/* ns, CLOCK_MONOTONIC: last byte */
	long got;		/* bytes of the present file, or calls */
	bool given_up, silent, shown;
} srv;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * The library calls it at least once a second; anything but 0 makes it give up. Until an answer
 * comes, @of is 0 and @got the number of calls.
 */
static int on_progress(struct debuginfod_client *c, long got, long of)
{
	(void)c;
	if (stop_requested())
		return 1;
	if (of > 0 ? got != srv.got : got > srv.got + 1)
		srv.since = now_ns();
	srv.got = got;
	if (isatty(STDERR_FILENO) && got > 1 << 20) {
		fprintf(stderr, "\rdebuginfod: %ld MiB ", got >> 20);
		srv.shown = true;
	}
	srv.silent = now_ns() - srv.since > SILENCE_NS;
	return srv.silent;
}

int debuginfod_turn_on(const char *urls)
{
	typedef struct debuginfod_client *(*begin_fn)(void);
	typedef int (*progress_fn)(struct debuginfod_client *c, long got, long of);
	void (*set_progress)(struct debuginfod_client *c, progress_fn fn);
	begin_fn begin;
	void *lib;

	if (urls)
		setenv("DEBUGINFOD_URLS", urls, 1);
	/* Seconds for the next 100 KB (debuginfod-find(1)); by default it waits for 90. */
	setenv("DEBUGINFOD_TIMEOUT", "10", 0);
	urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !urls[strspn(urls, " ")]) {
		pr_err("--debuginfod: no server to ask: give --debuginfod=URL, or set DEBUGINFOD_URLS");
		return -EINVAL;
	}
	lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		pr_err("--debuginfod needs " LIBRARY ": install it (Debian: libdebuginfod1, "
		       "Fedora: elfutils-debuginfod-client)");
		return -ENOENT;
	}
	begin = (begin_fn)dlsym(lib, "debuginfod_begin");
	*(void **)&set_progress = dlsym(lib, "debuginfod_set_progressfn");
	*(void **)&srv.find = dlsym(lib, "debuginfod_find_debuginfo");
	srv.client = begin && set_progress && srv.find ? begin() : NULL;
	if (!srv.client) {
		pr_err("--debuginfod: " LIBRARY " cannot be used");
		return -EIO;
	}
	set_progress(srv.client, on_progress);
	return 0;
}

bool debuginfod_is_on(void)
{
	return srv.client != NULL;
}

int debuginfod_fetch(const uint8_t *id, size_t len)
{
	int fd;

	if (!srv.client || srv.given_up)
		return -ENOENT;
	srv.since = now_ns();
	srv.got = 0;
	srv.silent = false;
	fd = srv.find(srv.client, id, (int)len, NULL);
	if (srv.shown)
		fprintf(stderr, "\r%*s\r", 30, "");
	srv.shown = false;
	/* Given up by on_progress() it says "no such file", too. */
	if (fd >= 0 || (fd == -ENOENT && !srv.silent))
		return fd;
	/* No answer now means no answer for the next hundred files, each after as long a wait. */
	srv.given_up = true;
	if (!stop_requested())
		pr_warn("debuginfod '%s': %s: it is not asked again; what needs it has no lines and "
			"no inlined frames", getenv("DEBUGINFOD_URLS"),
			srv.silent ? "no answer" : strerror(-fd));
	return srv.silent ? -ETIMEDOUT : fd;
}
