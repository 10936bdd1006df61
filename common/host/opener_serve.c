#include "host/opener_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "host/clock.h"
#include "host/fileop.h"
#include "host/opener_wire.h"
#include "host/sandbox.h"

/* A path is at most PATH_MAX long, and FILEOP_FIRST has a few short ones. */
struct request {
	struct wire_request head;
	char path[8192];
};

/* False: not one of ours. */
static bool decode(const struct request *rq, size_t got, const int *fds, int n, struct fileop *op)
{
	const struct wire_request *h = &rq->head;
	int next = 0;

	if (got < sizeof(*h) || h->kind >= FILEOP_KINDS || got != sizeof(*h) + h->path_len ||
	    (h->path_len && rq->path[h->path_len - 1]))
		return false;
	*op = (struct fileop){
		.kind = (enum fileop_kind)h->kind, .path = h->path_len ? rq->path : NULL, .path_len = h->path_len,
		.from = h->from, .to = h->to, .max = h->max,
	};
	for (int i = 0; i < FILEOP_FDS; i++)
		op->fd[i] = h->fds & 1u << i && next < n ? fds[next++] : -1;
	return true;
}

/* In a memfd, for what is too large for a message. */
static int put_aside(const struct fileop_result *r)
{
	int fd = memfd_create("nsprof-opener", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < r->len) {
		ssize_t n = write(fd, r->data + done, r->len - done);

		if (n < 0) {
			close(fd);
			return -errno;
		}
		done += (size_t)n;
	}
	return fd < 0 ? -errno : fd;
}

static int answer(int sock, int err, const struct fileop_result *r, uint64_t slept)
{
	struct wire_answer a = {
		.err = err, .st = r->st, .found = r->found, .len = r->len, .slept = slept, .refused = sandbox_refused(),
	};
	int fds[WIRE_FDS], n = 0, aside = -1, ret;

	a.has_fd = r->fd >= 0;
	a.has_data = r->data != NULL;
	if (a.has_fd)
		fds[n++] = r->fd;
	if (r->len > WIRE_INLINE) {
		aside = put_aside(r);
		a.in_memfd = aside >= 0;
		a.err = aside < 0 ? aside : 0;
	}
	if (a.in_memfd)
		fds[n++] = aside;
	ret = wire_send(sock, &a, sizeof(a), a.in_memfd || a.err ? NULL : r->data, a.in_memfd || a.err ? 0 : r->len, fds, n);
	if (aside >= 0)
		close(aside);
	return ret;
}

/* ---- how long it waits ---- */

/*
 * The file of this process, open; -1: the kernel does not count (CONFIG_SCHED_INFO), or this is not
 * an opener.
 */
static int schedstat = -1;

/* Times at which an operation began; ns. */
struct stage {
	uint64_t wall, cpu, queued;
};

/* How long this process waited for a CPU, ns. */
static uint64_t queued(void)
{
	char text[64];
	ssize_t n = schedstat < 0 ? -1 : pread(schedstat, text, sizeof(text) - 1, 0);
	const char *second;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

static struct stage now(void)
{
	return (struct stage){ clock_mono_ns(), clock_thread_ns(), queued() };
}

/* A wait for a CPU is not the file system's fault. */
static uint64_t slept_since(const struct stage *then)
{
	const struct stage s = now();
	const uint64_t wall = s.wall - then->wall, busy = s.cpu - then->cpu + s.queued - then->queued;

	return schedstat >= 0 && wall > busy ? wall - busy : 0;
}

bool opener_serve_one(int sock, int (*run)(const struct fileop *op, struct fileop_result *r))
{
	static struct request rq;
	struct fileop_result r = { .fd = -1 };
	struct stage begun;
	struct fileop op;
	int fds[WIRE_FDS], n, err;
	ssize_t got = wire_recv(sock, &rq, sizeof(rq), fds, &n);

	if (got == -EINTR)
		return true;
	if (!got)
		return false;
	begun = now();
	err = got < 0 ? (int)got : -EINVAL;
	if (got > 0 && decode(&rq, (size_t)got, fds, n, &op))
		err = run(&op, &r);
	/* Before the descriptors are closed, because that may wait. */
	if (rq.head.kind != FILEOP_CLOSE && answer(sock, err, &r, slept_since(&begun)))
		return false;
	fileop_result_fini(&r);
	wire_close(fds, n);
	return true;
}

void opener_serve(int sock)
{
	fileop_be_careful();
	schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	while (opener_serve_one(sock, fileop_run))
		;
	_exit(0);
}
