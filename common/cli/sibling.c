/* Running the other programs of nsprof: found beside the running executable, otherwise in PATH. */
#include "cli/sibling.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"

static int become(const char *name, char **argv)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash, *path;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash) {
		path = xasprintf("%.*s/%s", (int)(slash - self), self, name);
		execv(path, argv);
		free(path);
		/*
		 * If it exists but does not start, that is an error; a copy from PATH would hide
		 * it.
		 */
		if (errno != ENOENT)
			return -errno;
	}
	execvp(name, argv);
	return -errno;
}

int sibling_exec(const char *name, char **argv)
{
	argv[0] = xstrdup(name);
	return become(name, argv);
}

int sibling_exec_as_us(const char *name, char **argv)
{
	argv[0] = xstrdup(log_name());
	return become(name, argv);
}

static size_t read_some(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return len;
}

bool sibling_output(const char *name, const char *arg, char *buf, size_t size)
{
	int fds[2], status;
	pid_t pid;

	if (pipe(fds) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		char *argv[] = { NULL, xstrdup(arg), NULL };

		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		sibling_exec(name, argv);
		_exit(127);
	}
	close(fds[1]);
	buf[pid < 0 ? 0 : read_some(fds[0], buf, size - 1)] = '\0';
	close(fds[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
