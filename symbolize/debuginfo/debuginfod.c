/*
 * Runs libdebuginfod (debuginfod_find_debuginfo(3)) in a child process, which is started when
 * --debuginfod is given. There are two reasons. The library pulls curl and its dependencies into
 * the process, and a run without the option must not pay for that. And it cannot be interrupted: it
 * calls its progress function only while an answer comes in (0.192 and later), so a server that
 * accepts a connection and stays silent blocks it for minutes. Here the parent keeps the time and
 * kills the child.
 *
 * They talk over a socket with message boundaries. First the child says whether it can work. Then
 * the parent sends questions. The child answers each with any number of progress messages and a
 * final one, which carries the file descriptor.
 */
#include "debuginfo/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "host/parser.h"
#include "support/interrupt.h"

#define LIBRARY "libdebuginfod.so.1"
/*
 * A server that sends no byte for this long is given up. Servers have to unpack big files from
 * archives first, which takes a second or two.
 */
#define SILENCE_NS	UINT64_C(5000000000)
/*
 * So is a server that sends less than this in DEBUGINFOD_TIMEOUT seconds, as in debuginfod-find(1).
 */
#define SLOW_BYTES	102400
#define SLOW_S		10
/*
 * Interval for checking the clock and interrupt_requested(). Also the time the child gets to remove
 * its unfinished file.
 */
#define LOOK_MS		200
/* Interval of progress messages. */
#define PROGRESS_NS	UINT64_C(100000000)
#define ID_MAX		64	/* bytes of a build-id */

struct debuginfod_client;

struct question {
	uint32_t len;
	uint8_t id[ID_MAX];
};

enum answer_kind { ANSWER_BEGUN, ANSWER_PROGRESS, ANSWER_DONE };

struct answer {
	int32_t kind;		/* enum answer_kind */
	int32_t err;		/* 0 or negative errno; ANSWER_DONE with 0 has a descriptor */
	int64_t got, of;	/* ANSWER_PROGRESS: bytes */
};

/* ---- the child ---- */

static struct {
	int sock;
	uint64_t told;		/* ns, CLOCK_MONOTONIC: time of the last progress message */
	struct debuginfod_client *client;
	int (*find)(struct debuginfod_client *c, const unsigned char *id, int len, char **path);
} child;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Sends @a, with @fd unless it is negative. */
static int tell(const struct answer *a, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { .iov_base = (void *)a, .iov_len = sizeof(*a) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(child.sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/*
 * A result other than 0 makes the library give up and remove its unfinished file. Before an answer
 * begins, @of is 0 and @got counts calls.
 */
static int on_progress(struct debuginfod_client *c, long got, long of)
{
	const struct answer a = { .kind = ANSWER_PROGRESS, .got = of > 0 ? got : 0, .of = of };
	struct pollfd pfd = { .fd = child.sock, .events = POLLIN };
	uint64_t now = now_ns();

	(void)c;
	if (now - child.told >= PROGRESS_NS) {
		child.told = now;
		if (tell(&a, -1))
			return 1;
	}
	/*
	 * The parent sends nothing meanwhile: if the socket is readable, the parent has closed its
	 * end.
	 */
	return poll(&pfd, 1, 0) > 0;
}

static int load(void)
{
	typedef struct debuginfod_client *(*begin_fn)(void);
	typedef int (*progress_fn)(struct debuginfod_client *c, long got, long of);
	void (*set_progress)(struct debuginfod_client *c, progress_fn fn);
	begin_fn begin;
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return -ENOENT;
	begin = (begin_fn)dlsym(lib, "debuginfod_begin");
	*(void **)&set_progress = dlsym(lib, "debuginfod_set_progressfn");
	*(void **)&child.find = dlsym(lib, "debuginfod_find_debuginfo");
	child.client = begin && set_progress && child.find ? begin() : NULL;
	if (!child.client)
		return -EIO;
	set_progress(child.client, on_progress);
	return 0;
}

/*
 * The child keeps standard error, where the library writes with DEBUGINFOD_VERBOSE, but no pipe to
 * any other process.
 */
static void run_child(int sock, pid_t parent)
{
	struct answer a = { .kind = ANSWER_BEGUN };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct question q;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0)
		_exit(1);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	signal(SIGPIPE, SIG_IGN);
	child.sock = sock;
	a.err = load();
	if (tell(&a, -1) || a.err)
		_exit(1);
	while (recv(sock, &q, sizeof(q), 0) == sizeof(q)) {
		/* An id of no bytes would be taken for a string. */
		int fd = q.len && q.len <= ID_MAX ? child.find(child.client, q.id, (int)q.len, NULL) : -EINVAL;

		a = (struct answer){ .kind = ANSWER_DONE, .err = fd < 0 ? fd : 0 };
		if (tell(&a, fd))
			break;
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

/* ---- the parent ---- */

static struct {
	pid_t pid;
	int sock;		/* to the child; negative: off, or given up */
	bool on;
	uint64_t slow_ns;	/* time limit for SLOW_BYTES */
	bool shown;
} srv = { .sock = -1 };

/* Progress of the current file. */
struct watch {
	uint64_t since, mark;	/* ns, CLOCK_MONOTONIC: last byte; start of the current interval */
	int64_t got, mark_got;	/* bytes now and at @mark */
};

/* Ends the child. It removes its unfinished file, if the library gets the chance. */
static void end_child(void)
{
	struct timespec some = { .tv_nsec = 10000000 };

	if (srv.sock < 0)
		return;
	close(srv.sock);
	srv.sock = -1;
	/* In a parser it is not our child. It ends with the program. */
	if (parser_is())
		return;
	for (int i = 0; i < LOOK_MS / 10; i++) {
		if (waitpid(srv.pid, NULL, WNOHANG))
			return;
		nanosleep(&some, NULL);
	}
	kill(srv.pid, SIGKILL);
	waitpid(srv.pid, NULL, 0);
}

/*
 * Receives the next message, with its descriptor in @fd (-1: none). 0, or negative errno: -EAGAIN
 * if there is no message, -EPIPE if the child is gone.
 */
static int hear(struct answer *a, int *fd, int timeout_ms)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = a, .iov_len = sizeof(*a) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct pollfd pfd = { .fd = srv.sock, .events = POLLIN };
	struct cmsghdr *c;

	*fd = -1;
	if (poll(&pfd, 1, timeout_ms) <= 0)
		return -EAGAIN;
	if (recvmsg(srv.sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(*a))
		return -EPIPE;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return 0;
}

/*
 * The library would try a slow server three times, waiting for the full timeout each time. So it
 * gets a longer one, and the parent enforces the user's.
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

static int start_child(void)
{
	pid_t us = getpid();
	int socks[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	srv.pid = fork();
	if (srv.pid == 0) {
		close(socks[0]);
		run_child(socks[1], us);
	}
	err = srv.pid < 0 ? -errno : 0;
	close(socks[1]);
	if (err)
		close(socks[0]);
	else
		srv.sock = socks[0];
	return err;
}

int debuginfod_turn_on(const char *urls)
{
	struct answer a = { .err = -EPIPE };
	int err, fd;

	if (urls)
		setenv("DEBUGINFOD_URLS", urls, 1);
	set_timeout();
	urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !urls[strspn(urls, " ")]) {
		pr_err("--debuginfod: no server is set: give --debuginfod=URL, or set DEBUGINFOD_URLS");
		return -EINVAL;
	}
	err = start_child();
	if (err) {
		pr_err("--debuginfod: cannot start the download process: %s", strerror(-err));
		return err;
	}
	while ((err = hear(&a, &fd, -1)) == -EAGAIN)
		;
	if (!err && !a.err) {
		srv.on = true;
		return 0;
	}
	end_child();
	if (!err && a.err == -ENOENT) {
		pr_err("--debuginfod needs " LIBRARY ": install it (Debian: libdebuginfod1, "
		       "Fedora: elfutils-debuginfod-client)");
		return -ENOENT;
	}
	pr_err("--debuginfod: cannot use " LIBRARY);
	return -EIO;
}

void debuginfod_turn_off(void)
{
	end_child();
}

bool debuginfod_is_on(void)
{
	return srv.on;
}

/* Why to give up the server now, or NULL. */
static const char *given_up(struct watch *w)
{
	uint64_t now = now_ns();

	if (now - w->since > SILENCE_NS)
		return "no answer";
	if (w->got - w->mark_got > SLOW_BYTES) {
		w->mark = now;
		w->mark_got = w->got;
	}
	return now - w->mark > srv.slow_ns ? "too slow" : NULL;
}

static void on_bytes(struct watch *w, int64_t got)
{
	if (got == w->got)
		return;
	/* The download begins again, from another server. */
	if (got < w->got) {
		w->mark = now_ns();
		w->mark_got = got;
	}
	w->since = now_ns();
	w->got = got;
	if (isatty(STDERR_FILENO) && got > 1 << 20) {
		fprintf(stderr, "\rdebuginfod: %" PRId64 " MiB ", got >> 20);
		srv.shown = true;
	}
}

/*
 * Returns the answer to @q: a descriptor, or negative errno. *@why is set if it is the server's
 * fault.
 */
static int ask(const struct question *q, const char **why)
{
	struct watch w = { .since = now_ns(), .mark = now_ns() };
	struct answer a;
	int err, fd;

	if (send(srv.sock, q, sizeof(*q), MSG_NOSIGNAL) != sizeof(*q))
		return -EPIPE;
	for (;;) {
		err = hear(&a, &fd, LOOK_MS);
		if (interrupt_requested()) {
			if (fd >= 0)
				close(fd);
			return -EINTR;
		}
		if (err == 0 && a.kind == ANSWER_DONE)
			return a.err ? a.err : fd;
		if (err && err != -EAGAIN)
			return err;
		if (err == 0)
			on_bytes(&w, a.got);
		*why = given_up(&w);
		if (*why)
			return -ETIMEDOUT;
	}
}

int debuginfod_fetch(const uint8_t *id, size_t len)
{
	struct question q = { .len = (uint32_t)len };
	const char *why = NULL;
	int fd;

	if (srv.sock < 0 || !len || len > sizeof(q.id) || interrupt_requested())
		return -ENOENT;
	memcpy(q.id, id, len);
	fd = ask(&q, &why);
	if (srv.shown)
		fprintf(stderr, "\r%*s\r", 30, "");
	srv.shown = false;
	if (fd >= 0 || fd == -ENOENT)
		return fd;
	/*
	 * A server that does not answer now would not answer for the next hundred files, each after
	 * the same wait.
	 */
	end_child();
	if (!interrupt_requested())
		pr_warn("debuginfod '%s': %s: giving up; binaries that need debug info from it have no source lines and "
			"no inlined frames", getenv("DEBUGINFOD_URLS"), why ? why : strerror(-fd));
	return fd;
}
