/* A pager for terminal output (pager.h). */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "host/parser.h"

bool pager_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

/* less may be missing; that is not an error. */
#define DEFAULT_PAGER "command -v less >/dev/null || exit 127; exec less"

/*
 * A pager that cannot be run has read nothing yet, so cat can take its input. The outer shell
 * survives a Ctrl-C that is meant for the pager.
 */
#define RUN "trap : INT; sh -c \"$0\"; case $? in 126 | 127) exec cat ;; esac"

static const char *command(void)
{
	const char *cmd = getenv("NSPROF_PAGER");

	if (!cmd)
		cmd = getenv("PAGER");
	if (!cmd)
		cmd = DEFAULT_PAGER;
	return *cmd && strcmp(cmd, "cat") ? cmd : NULL;
}

/* A request for the program that a parser belongs to. */
#define ASK_PAGER (PARSER_OTHER + 100)

/* Output to a pager is not for us to end, nor is the pager. */
static void leave_to_pager(void)
{
	signal(SIGPIPE, SIG_IGN);
	/* Ctrl-C is for the pager. */
	signal(SIGINT, SIG_IGN);
}

static pid_t ask(void)
{
	int pid = 0, fd;

	parser_output_begins();
	if (parser_ask(ASK_PAGER, NULL, &pid, &fd) || fd < 0)
		return 0;
	dup2(fd, STDOUT_FILENO);
	close(fd);
	leave_to_pager();
	return pid;
}

pid_t pager_start(void)
{
	const char *cmd = isatty(STDOUT_FILENO) ? command() : NULL;
	int p[2];
	pid_t pid;

	if (cmd && parser_is())
		return ask();
	if (!cmd || pipe2(p, O_CLOEXEC))
		return 0;
	pid = fork();
	if (!pid) {
		dup2(p[0], STDIN_FILENO);
		/*
		 * As git does: a short text stays on the screen, colors work, long lines are cut.
		 */
		setenv("LESS", "FRSX", 0);
		signals_restore();
		execl("/bin/sh", "sh", "-c", RUN, cmd, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		dup2(p[1], STDOUT_FILENO);
	close(p[0]);
	close(p[1]);
	if (pid < 0)
		return 0;
	leave_to_pager();
	return pid;
}

void pager_end(pid_t pager)
{
	int fd;

	if (!pager)
		return;
	if (parser_is()) {
		fflush(stdout);
		return;
	}
	/* The pager reads until all writers have closed the pipe. */
	fflush(stdout);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(fd < 0 ? STDERR_FILENO : fd, STDOUT_FILENO);
	if (fd >= 0)
		close(fd);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

static pid_t served;

int pager_serve(uint32_t kind, int *value, int *fd)
{
	if (kind != ASK_PAGER)
		return -ENOSYS;
	if (served)
		return -EALREADY;
	served = pager_start();
	*value = served;
	/* pager_start() has put its pipe there. */
	*fd = served ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
	return 0;
}

void pager_serve_end(void)
{
	pager_end(served);
	served = 0;
}
