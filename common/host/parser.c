#include "host/parser.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "host/opener.h"
#include "host/opener_serve.h"
#include "host/parser_confine.h"
#include "host/parser_fault.h"
#include "host/parser_files.h"
#include "host/parser_outputs.h"

enum { FILES, REQUESTS, SOCKETS };

/* Signals that end a program are passed on to its parser. */
static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static volatile pid_t child;

/* A terminal sends signals to all foreground processes, including the parser. */
static void forward(int signo, siginfo_t *info, void *context)
{
	const int saved = errno;

	(void)context;
	if (info->si_code != SI_KERNEL)
		kill(child, signo);
	errno = saved;
}

/* Signals that the caller ignores stay ignored, here and there. */
static void forward_signals(bool on)
{
	struct sigaction sa = { .sa_flags = SA_RESTART }, old;

	if (on) {
		sa.sa_sigaction = forward;
		sa.sa_flags |= SA_SIGINFO;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (!sigaction(forwarded[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(forwarded[i], &sa, NULL);
}

/* A fault of the parser, not an end that somebody wanted. */
static bool is_fault(int signo)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (faults[i] == signo)
			return true;
	return false;
}

/*
 * The parser must not read what the user types, and terminals are usually open for reading and
 * writing.
 */
static void only_write_to_terminal(int fd)
{
	char self[64];
	int own;

	if (!isatty(fd))
		return;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	own = open(fd == STDIN_FILENO ? "/dev/null" : self, (fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return;
	dup2(own, fd);
	close(own);
}

/*
 * What the program got from its caller is not for a parser: a shell may keep anything open. All that
 * the program itself opened is closed by exec, so it can be told.
 */
static void close_inherited(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *de;

	while (d && (de = readdir(d))) {
		const int fd = atoi(de->d_name), flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			close(fd);
	}
	if (d)
		closedir(d);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		only_write_to_terminal(fd);
}

static void __attribute__((noreturn)) run_child(const int sock[SOCKETS], int (*fn)(void *ctx), void *ctx,
						   const struct parser *p, pid_t parent)
{
	close_inherited();
	opener_through(sock[FILES]);
	parser_outputs_ask(sock[REQUESTS]);
	parser_fault_catch();
	parser_confine(p, parent);
	exit(fn(ctx));
}

static int refuse_file(const struct fileop *op, struct fileop_result *r)
{
	(void)op;
	*r = (struct fileop_result){ .fd = -1 };
	return -EPERM;
}

/* Until the parser ends. */
static void serve(const struct parser *p, const int sock[SOCKETS])
{
	struct pollfd fd[SOCKETS] = { { .fd = sock[FILES], .events = POLLIN }, { .fd = sock[REQUESTS], .events = POLLIN } };

	parser_files_begin(p->sources);
	for (;;) {
		if (poll(fd, SOCKETS, -1) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (fd[FILES].revents && !opener_serve_one(sock[FILES], p->no_files ? refuse_file : parser_files_run))
			return;
		if (fd[REQUESTS].revents && !parser_outputs_serve(sock[REQUESTS], p))
			return;
	}
}

static const char *input(const struct parser *p)
{
	return p->input ? p->input : "the recording";
}

static int failed(const struct parser *p)
{
	return p->failed ? p->failed : EXIT_FAILURE;
}

/* Ends this program as @signo ended the parser. */
static int end_by(int signo)
{
	struct rlimit none = { 0, 0 };
	sigset_t one;

	setrlimit(RLIMIT_CORE, &none);
	signal(signo, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(signo);
	return 128 + signo;
}

/* 0 with *@pid, or negative errno. @sock: our ends. */
static int start(const struct parser *p, int sock[SOCKETS], pid_t *pid, int (*fn)(void *ctx), void *ctx)
{
	const pid_t us = getpid();
	int a[2], b[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, a))
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, b)) {
		err = -errno;
		close(a[0]);
		close(a[1]);
		return err;
	}
	fflush(NULL);
	*pid = fork();
	if (!*pid) {
		const int ends[SOCKETS] = { a[1], b[1] };

		close(a[0]);
		close(b[0]);
		run_child(ends, fn, ctx, p, us);
	}
	err = *pid < 0 ? -errno : 0;
	close(a[1]);
	close(b[1]);
	sock[FILES] = a[0];
	sock[REQUESTS] = b[0];
	if (err) {
		close(a[0]);
		close(b[0]);
	}
	return err;
}

/* Runs one parser: its wait status, or negative errno after a message. */
static int run(const struct parser *p, int (*fn)(void *ctx), void *ctx)
{
	int sock[SOCKETS] = { -1, -1 }, status, err;
	pid_t pid = 0;

	forward_signals(false);
	err = start(p, sock, &pid, fn, ctx);
	if (err) {
		pr_err("cannot start the process that reads %s: %s; raise the limit of processes (ulimit -u), or use --no-sandbox",
		       input(p), strerror(-err));
		return err;
	}
	child = pid;
	forward_signals(true);
	serve(p, sock);
	close(sock[FILES]);
	close(sock[REQUESTS]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	forward_signals(false);
	/* What it did not finish. */
	parser_outputs_end();
	return status;
}

int parser_run(const struct parser *p, int (*fn)(void *ctx), void *ctx)
{
	int status, signo;
	const char *name;

	parser_fault_init();
	for (;;) {
		status = run(p, fn, ctx);
		if (status < 0)
			return failed(p);
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		signo = WTERMSIG(status);
		if (!is_fault(signo) && signo != SIGKILL)
			return end_by(signo);
		if (!parser_fault_learn(signo))
			break;
	}
	name = parser_fault_name();
	pr_err("the process that reads %s was ended by signal %d (%s)%s%s%s; what it should write is missing or cut", input(p), signo,
	       strsignal(signo), *name ? " while it read '" : "", name, *name ? "'" : "");
	return failed(p);
}
