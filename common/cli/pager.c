/* Text for people on a terminal (pager.h). */
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

bool pager_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

/* There may be none: then nobody has to be told. */
#define DEFAULT_PAGER "command -v less >/dev/null || exit 127; exec less"

/* A pager that cannot be run has read nothing yet. The shell in front outlives a Ctrl-C, which is the pager's. */
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

pid_t pager_start(void)
{
	const char *cmd = isatty(STDOUT_FILENO) ? command() : NULL;
	int p[2];
	pid_t pid;

	if (!cmd || pipe2(p, O_CLOEXEC))
		return 0;
	pid = fork();
	if (!pid) {
		dup2(p[0], STDIN_FILENO);
		/* As git: a short text stays on the screen, colors pass, long lines are cut. */
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
	signal(SIGPIPE, SIG_IGN);
	/* Ctrl-C is the pager's. */
	signal(SIGINT, SIG_IGN);
	return pid;
}

void pager_end(pid_t pager)
{
	int fd;

	if (!pager)
		return;
	/* The pager reads to the end of the pipe, of which no writer may be left. */
	fflush(stdout);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	dup2(fd < 0 ? STDERR_FILENO : fd, STDOUT_FILENO);
	if (fd >= 0)
		close(fd);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}
