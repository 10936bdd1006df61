#include "host/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/opener_loss.h"
#include "host/opener_wire.h"
#include "host/opener_zygote.h"
#include "host/sandbox.h"

#define NS_PER_MS 1000000ull
/* For the zygote, which waits for nothing but a CPU. */
#define ZYGOTE_WAIT_NS 5000000000ull
#define END_WAIT_MS 1000
/* Idle openers that are kept: as many threads as usually ask at a time. */
#define IDLE_MAX 4
/* Those that may run at the same time; older ones have ended, or hang. */
#define RECENT 8

struct opener {
	int sock;
	pid_t pid;
	struct opener *next;
	struct {
		struct wire_answer head;
		char data[WIRE_INLINE];
	} in;
};

static struct {
	pthread_mutex_t lock;	/* for all members */
	int zygote;		/* socket; -1: has ended */
	pid_t pid;		/* of the zygote; 0: not started */
	struct opener *idle;
	unsigned int nidle;
	atomic_int recent[RECENT];	/* pids of the latest openers; without lock */
	unsigned int nforked;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .zygote = -1 };

static void free_opener(struct opener *o)
{
	close(o->sock);
	free(o);
}

/* Waits for a message. False: none came within @ns. */
static bool ready(int sock, uint64_t ns)
{
	const uint64_t begun = clock_mono_ns();
	struct pollfd p = { .fd = sock, .events = POLLIN };

	for (;;) {
		const uint64_t past = clock_mono_ns() - begun;
		int n;

		if (past >= ns)
			return false;
		n = poll(&p, 1, (int)((ns - past + NS_PER_MS - 1) / NS_PER_MS));
		if (n > 0 || (n < 0 && errno != EINTR))
			return n > 0;
	}
}

int opener_start(bool confined)
{
	int sock;

	if (pool.pid)
		return 0;
	sock = zygote_start(&pool.pid, confined);
	if (sock < 0) {
		pool.pid = 0;
		pr_err("cannot start the process that opens files of others: %s; raise the limit of processes (ulimit -u)",
		       strerror(-sock));
		return sock;
	}
	pool.zygote = sock;
	return 0;
}

pid_t opener_pid(void)
{
	return pool.pid;
}

void opener_stop(void)
{
	if (!pool.pid)
		return;
	while (pool.idle) {
		struct opener *o = pool.idle;

		pool.idle = o->next;
		free_opener(o);
	}
	pool.nidle = 0;
	/*
	 * It ends when its socket is closed. The openers that it leaves behind are not our
	 * children.
	 */
	if (pool.zygote >= 0)
		close(pool.zygote);
	pool.zygote = -1;
	for (int ms = 0; ms < END_WAIT_MS && !waitpid(pool.pid, NULL, WNOHANG); ms++)
		poll(NULL, 0, 1);
	pool.pid = 0;
}

/* ---- the zygote ---- */

/* With the lock held. This happens only if something killed the zygote. */
static int zygote_lost(void)
{
	if (pool.zygote >= 0) {
		pr_warn("the process that opens files of others has ended: names that are not read yet are missing");
		close(pool.zygote);
	}
	pool.zygote = -1;
	return -ECHILD;
}

static int tell_zygote(const struct zygote_request *rq)
{
	if (pool.zygote < 0)
		return -ECHILD;
	return wire_send(pool.zygote, rq, sizeof(*rq), NULL, 0, NULL, 0) ? zygote_lost() : 0;
}

/* With the lock. */
static int fork_opener(struct opener **out)
{
	const struct zygote_request rq = { .kind = ZYGOTE_FORK };
	struct zygote_answer a = { 0 };
	struct opener *o;
	int fds[WIRE_FDS], n, err = tell_zygote(&rq);
	ssize_t got;

	if (err)
		return err;
	got = ready(pool.zygote, ZYGOTE_WAIT_NS) ? wire_recv(pool.zygote, &a, sizeof(a), fds, &n) : -ETIMEDOUT;
	if (got == -EMFILE)
		return -EMFILE;
	if (got != sizeof(a))
		return zygote_lost();
	if (a.pid < 0 || n != 1) {
		wire_close(fds, n);
		return a.pid < 0 ? a.pid : -EMFILE;
	}
	o = xcalloc(1, sizeof(*o));
	o->sock = fds[0];
	o->pid = a.pid;
	atomic_store(&pool.recent[pool.nforked++ % RECENT], a.pid);
	*out = o;
	return 0;
}

static int take_opener(struct opener **out)
{
	int err = 0;

	pthread_mutex_lock(&pool.lock);
	*out = pool.idle;
	if (*out) {
		pool.idle = (*out)->next;
		pool.nidle--;
	} else {
		err = fork_opener(out);
	}
	pthread_mutex_unlock(&pool.lock);
	return err;
}

static void give_back(struct opener *o)
{
	pthread_mutex_lock(&pool.lock);
	if (pool.nidle < IDLE_MAX) {
		o->next = pool.idle;
		pool.idle = o;
		pool.nidle++;
		o = NULL;
	}
	pthread_mutex_unlock(&pool.lock);
	/* It ends when its socket is closed. */
	if (o)
		free_opener(o);
}

/* It hangs, or is gone. Nobody waits for its end, but its socket shows it, and stays open. */
static void abandon(struct opener *o)
{
	const struct zygote_request rq = { .kind = ZYGOTE_KILL, .pid = o->pid };

	pthread_mutex_lock(&pool.lock);
	tell_zygote(&rq);
	pthread_mutex_unlock(&pool.lock);
	free(o);
}

bool opener_owns(uint32_t pid)
{
	if (!pool.pid || !pid)
		return false;
	for (int i = 0; i < RECENT; i++)
		if ((uint32_t)atomic_load_explicit(&pool.recent[i], memory_order_relaxed) == pid)
			return true;
	return (uint32_t)pool.pid == pid;
}

void opener_take_priority(int fifo)
{
	const struct zygote_request rq = { .kind = ZYGOTE_PRIORITY, .fifo = fifo, .nice = getpriority(PRIO_PROCESS, 0) };
	struct opener *idle;

	if (!pool.pid)
		return;
	pthread_mutex_lock(&pool.lock);
	tell_zygote(&rq);
	idle = pool.idle;
	pool.idle = NULL;
	pool.nidle = 0;
	pthread_mutex_unlock(&pool.lock);
	while (idle) {
		struct opener *o = idle;

		idle = o->next;
		free_opener(o);
	}
}

/* ---- one operation ---- */

static int send_request(struct opener *o, const struct fileop *op)
{
	struct wire_request h = {
		.kind = op->kind, .from = op->from, .to = op->to, .max = op->max,
	};
	int fds[WIRE_FDS], n = 0;

	if (op->path)
		h.path_len = (uint32_t)(op->path_len ? op->path_len : strlen(op->path) + 1);
	for (int i = 0; i < FILEOP_FDS; i++) {
		if (op->fd[i] < 0)
			continue;
		h.fds |= (uint8_t)(1u << i);
		fds[n++] = op->fd[i];
	}
	return wire_send(o->sock, &h, sizeof(h), op->path, h.path_len, fds, n);
}

/* The answer to the latest request, within @ns. */
static ssize_t await(struct opener *o, uint64_t ns, int fds[WIRE_FDS], int *n)
{
	ssize_t got;

	if (!ready(o->sock, ns))
		return -ETIMEDOUT;
	do
		got = wire_recv(o->sock, &o->in, sizeof(o->in), fds, n);
	while (got == -EINTR);
	return got;
}

/* Does @o wait for nothing but a CPU? */
static bool is_runnable(const struct opener *o)
{
	char path[64], text[512];
	const char *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)o->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* "7 (nsprof-opener) R ..." */
	end = strrchr(text, ')');
	return end && !strncmp(end, ") R", 3);
}

/*
 * The answer within @ns. An opener that waits for a CPU on a busy machine gets the whole deadline.
 * Otherwise tenants would lose files because of others.
 */
static ssize_t await_fair(struct opener *o, uint64_t ns, int fds[WIRE_FDS], int *n)
{
	ssize_t got = await(o, ns, fds, n);
	const uint64_t most = got == -ETIMEDOUT && is_runnable(o) ? opener_loss_most() : 0;

	return most > ns ? await(o, most - ns, fds, n) : got;
}

/* Data that was too large for a message. */
static int read_aside(int fd, char *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, to + done, len - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int take_answer(const struct opener *o, size_t got, const int *fds, int n, struct fileop_result *r)
{
	const struct wire_answer *a = &o->in.head;
	int next = 0, err = a->err;

	*r = (struct fileop_result){ .fd = -1, .st = a->st, .found = a->found };
	if (a->refused >= 0)
		sandbox_tell_refused(a->refused);
	if (!err && n != a->has_fd + a->in_memfd)
		err = -EMFILE;
	if (!err && a->has_data) {
		r->data = malloc(a->len + 1);
		err = r->data ? 0 : -ENOMEM;
	}
	if (!err && a->has_fd)
		r->fd = fds[next++];
	if (!err && r->data) {
		r->len = a->len;
		r->data[a->len] = '\0';
		if (a->in_memfd)
			err = read_aside(fds[next], r->data, a->len);
		else if (a->len <= got - sizeof(*a))
			memcpy(r->data, o->in.data, a->len);
		else
			err = -EIO;
	}
	wire_close(fds + next, n - next);
	if (err)
		fileop_result_fini(r);
	return err;
}

/* ---- in a parser ---- */

static struct {
	bool on;
	pthread_mutex_t lock;	/* for @o: one question at a time */
	struct opener o;
} through = { .lock = PTHREAD_MUTEX_INITIALIZER };

void opener_through(int sock)
{
	/* These open everything for whoever asks. */
	while (pool.idle) {
		struct opener *o = pool.idle;

		pool.idle = o->next;
		free_opener(o);
	}
	if (pool.zygote >= 0)
		close(pool.zygote);
	pool.zygote = -1;
	through.on = true;
	through.o.sock = sock;
}

bool opener_is_through(void)
{
	return through.on;
}

static int run_through(const struct fileop *op, struct fileop_result *r)
{
	int fds[WIRE_FDS], n, err;
	ssize_t got;

	*r = (struct fileop_result){ .fd = -1 };
	pthread_mutex_lock(&through.lock);
	err = send_request(&through.o, op);
	do
		got = err ? err : wire_recv(through.o.sock, &through.o.in, sizeof(through.o.in), fds, &n);
	while (got == -EINTR);
	if (got >= (ssize_t)sizeof(through.o.in.head))
		err = take_answer(&through.o, (size_t)got, fds, n, r);
	else
		err = got < 0 ? (int)got : -ECONNRESET;
	pthread_mutex_unlock(&through.lock);
	return err;
}

static bool gives_file(enum fileop_kind kind)
{
	return kind == FILEOP_FILE || kind == FILEOP_FIRST || kind == FILEOP_HELD || kind == FILEOP_MAPPING ||
	       kind == FILEOP_MAPPING_AT;
}

int opener_run(const struct fileop *op, struct fileop_result *r)
{
	uint64_t wait, key, begun;
	int fds[WIRE_FDS], n, err;
	struct opener *o;
	ssize_t got;

	if (through.on)
		return run_through(op, r);
	if (!pool.pid)
		return fileop_run(op, r);
	*r = (struct fileop_result){ .fd = -1 };
	wait = opener_loss_wait(op, &key);
	if (!wait)
		return -ETIMEDOUT;
	err = take_opener(&o);
	if (err)
		return err;
	begun = clock_mono_ns();
	err = send_request(o, op);
	got = err ? err : await_fair(o, wait, fds, &n);
	/* -EMFILE: it has answered, but we had no room for the descriptors. */
	if (got >= (ssize_t)sizeof(o->in.head) || got == -EMFILE) {
		err = got < 0 ? -EMFILE : take_answer(o, (size_t)got, fds, n, r);
		opener_loss_answered(op, key, !err && gives_file(op->kind) && !(fcntl(r->fd, F_GETFL) & O_PATH),
				     got < 0 ? 0 : o->in.head.slept);
		give_back(o);
		return err;
	}
	if (got == -ETIMEDOUT)
		opener_loss_lost(op, key, clock_mono_ns() - begun, o->pid, o->sock);
	else
		close(o->sock);
	abandon(o);
	return got < 0 ? (int)got : -ECONNRESET;
}

void opener_close(int fd)
{
	const struct fileop op = { .kind = FILEOP_CLOSE, .fd = { fd, -1 } };
	struct opener *o;

	if (!through.on && pool.pid && !take_opener(&o)) {
		send_request(o, &op);
		give_back(o);
	}
	close(fd);
}
