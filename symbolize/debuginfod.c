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
/* And with less than these bytes in DEBUGINFOD_TIMEOUT seconds, as debuginfod-find(1) has it. */
#define SLOW_BYTES	102400
#define SLOW_S		10

struct debuginfod_client;

static struct {
	struct debuginfod_client *client;	/* NULL: off */
	int (*find)(struct debuginfod_client *c, const unsigned char *id, int len, char **path);
	uint64_t since;		/* ns, CLOCK_MONOTONIC: last byte */
	long got;		/* bytes of the present file, or calls */
	uint64_t slow_ns, mark;	/* span for SLOW_BYTES, and when the present one began */
	long mark_got;		/* bytes there were at @mark */
	const char *why;	/* not NULL: on_progress() gave up, and why */
	bool given_up, shown;
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
	uint64_t now = now_ns();

	(void)c;
	if (stop_requested())
		return 1;
	if (of > 0 ? got != srv.got : got > srv.got + 1)
		srv.since = now;
	srv.got = got;
	if (now - srv.since > SILENCE_NS)
		srv.why = "no answer";
	if (got < srv.mark_got || got - srv.mark_got > SLOW_BYTES) {
		srv.mark = now;
		srv.mark_got = got;
	} else if (now - srv.mark > srv.slow_ns) {
		srv.why = "too slow";
	}
	if (isatty(STDERR_FILENO) && got > 1 << 20) {
		fprintf(stderr, "\rdebuginfod: %ld MiB ", got >> 20);
		srv.shown = true;
	}
	return srv.why != NULL;
}

/*
 * The library would try a slow server three times, each for the whole time: so it gets a longer one, and
 * on_progress() keeps the user's.
 */
static void set_timeout(void)
{
	const char *env = getenv("DEBUGINFOD_TIMEOUT");
	long secs = env ? strtol(env, NULL, 10) : 0;
	char longer[32];

	if (secs <= 0 || secs > 3600)
		secs = SLOW_S;
	srv.slow_ns = (uint64_t)secs * 1000000000;
	snprintf(longer, sizeof(longer), "%ld", secs + 60);
	setenv("DEBUGINFOD_TIMEOUT", longer, 1);
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
	set_timeout();
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
	srv.since = srv.mark = now_ns();
	srv.got = srv.mark_got = 0;
	srv.why = NULL;
	fd = srv.find(srv.client, id, (int)len, NULL);
	if (srv.shown)
		fprintf(stderr, "\r%*s\r", 30, "");
	srv.shown = false;
	/* Given up by on_progress() it says "no such file", too. */
	if (fd >= 0 || (fd == -ENOENT && !srv.why))
		return fd;
	/* No answer now means no answer for the next hundred files, each after as long a wait. */
	srv.given_up = true;
	if (!stop_requested())
		pr_warn("debuginfod '%s': %s: it is not asked again; what needs it has no lines and "
			"no inlined frames", getenv("DEBUGINFOD_URLS"),
			srv.why ? srv.why : strerror(-fd));
	return srv.why ? -ETIMEDOUT : fd;
}
