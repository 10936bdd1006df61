#include "host/opener_zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/opener_rights.h"
#include "host/opener_serve.h"
#include "host/opener_wire.h"

/* Openers at the same time, including those that were killed and still wait for a file system. */
#define CHILDREN_MAX 64
/* Descriptors to close one by one, where the kernel has no close_range(2) (before Linux 5.9). */
#define CLOSE_MAX 65536

struct children {
	pid_t v[CHILDREN_MAX];	/* not reaped yet, so the numbers are theirs */
	int n;
};

#define SOCK_FD 3

/*
 * A hung opener must not keep a pipe, terminal, folder or mount busy. Only @sock stays, as SOCK_FD.
 */
static void let_go(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), err;
	sigset_t none;

	err = chdir("/");
	(void)err;
	setsid();
	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (sock != SOCK_FD && dup3(sock, SOCK_FD, O_CLOEXEC) < 0)
		_exit(1);
	if (syscall(SYS_close_range, SOCK_FD + 1, ~0u, 0))
		for (int fd = SOCK_FD + 1; fd < CLOSE_MAX; fd++)
			close(fd);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Removes those that ended. */
static void reap(struct children *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++)
		if (!waitpid(c->v[i], NULL, WNOHANG))
			c->v[n++] = c->v[i];
	c->n = n;
}

static void fork_one(struct children *c, int sock)
{
	struct zygote_answer a = { .pid = -EAGAIN };
	int pair[2];

	reap(c);
	if (c->n == CHILDREN_MAX || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		wire_send(sock, &a, sizeof(a), NULL, 0, NULL, 0);
		return;
	}
	a.pid = fork();
	if (!a.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sock);
		close(pair[0]);
		opener_rights_give_up();
		opener_serve(pair[1]);
	}
	close(pair[1]);
	if (a.pid > 0)
		c->v[c->n++] = a.pid;
	else
		a.pid = -errno;
	wire_send(sock, &a, sizeof(a), NULL, 0, pair, a.pid > 0);
	close(pair[0]);
}

static void kill_one(const struct children *c, pid_t pid)
{
	for (int i = 0; i < c->n; i++)
		if (c->v[i] == pid)
			kill(pid, SIGKILL);
}

static void take_priority(const struct zygote_request *rq)
{
	const struct sched_param fifo = { rq->fifo };

	if (rq->fifo)
		sched_setscheduler(0, SCHED_FIFO, &fifo);
	else
		setpriority(PRIO_PROCESS, 0, rq->nice);
}

static void __attribute__((noreturn)) zygote(void)
{
	const int sock = SOCK_FD;
	struct children c = { .n = 0 };
	struct zygote_request rq = { 0 };
	int fds[WIRE_FDS], n;
	ssize_t got;

	for (;;) {
		got = wire_recv(sock, &rq, sizeof(rq), fds, &n);
		if (got == -EINTR)
			continue;
		if (got != sizeof(rq))
			break;
		if (rq.kind == ZYGOTE_FORK)
			fork_one(&c, sock);
		else if (rq.kind == ZYGOTE_KILL)
			kill_one(&c, rq.pid);
		else if (rq.kind == ZYGOTE_PRIORITY)
			take_priority(&rq);
		reap(&c);
	}
	for (int i = 0; i < c.n; i++)
		kill(c.v[i], SIGKILL);
	_exit(0);
}

int zygote_start(pid_t *pid, bool confined)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_NAME, "nsprof-opener");
		let_go(pair[1]);
		if (confined)
			opener_rights_prepare();
		/* Changing the user for files would undo it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		zygote();
	}
	err = *pid < 0 ? -errno : 0;
	close(pair[1]);
	if (!err)
		return pair[0];
	close(pair[0]);
	return err;
}
