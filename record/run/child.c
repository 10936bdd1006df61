#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/xalloc.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child: wait for the go-ahead, then become the command. */
static void __attribute__((noreturn)) run(int go, int err, char **argv, const sigset_t *mask,
					  bool stdout_taken)
{
	ssize_t n;
	char c;
	int e;

	sigprocmask(SIG_SETMASK, mask, NULL);
	do
		n = read(go, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
	if (stdout_taken)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	signals_restore();
	execvp(argv[0], argv);
	e = errno;
	if (write(err, &e, sizeof(e)) != sizeof(e))
		_exit(126);
	_exit(127);
}

int child_find(const char *name)
{
	const char *dirs = strchr(name, '/') ? "" : getenv("PATH");
	struct stat st;
	int err = ENOENT;

	/* The path that execvp(3) takes without a PATH. */
	for (const char *dir = dirs ? dirs : "/bin:/usr/bin";; dir++) {
		size_t len = strcspn(dir, ":");
		char *path = xasprintf("%.*s%s%s", (int)len, dir, len ? "/" : "", name);
		bool found = !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);

		if (!found && !access(path, F_OK))
			err = EACCES;
		free(path);
		if (found)
			return 0;
		dir += len;
		if (!*dir)
			break;
	}
	pr_err("cannot run '%s': %s", name, strerror(err));
	return -err;
}

int child_prepare(struct child *c, char **argv, const sigset_t *mask, bool stdout_taken)
{
	int go[2], report[2], err;

	if (pipe2(go, O_CLOEXEC)) {
		err = -errno;
		pr_err("cannot start '%s': %s", argv[0], strerror(-err));
		return err;
	}
	if (pipe2(report, O_CLOEXEC)) {
		err = -errno;
		pr_err("cannot start '%s': %s", argv[0], strerror(-err));
		close(go[0]);
		close(go[1]);
		return err;
	}
	c->pid = fork();
	if (!c->pid) {
		close(go[1]);
		run(go[0], report[1], argv, mask, stdout_taken);
	}
	err = c->pid < 0 ? -errno : 0;
	close(go[0]);
	close(report[1]);
	c->go_fd = go[1];
	c->err_fd = report[0];
	if (err) {
		pr_err("cannot start '%s': %s", argv[0], strerror(-err));
		close_fd(&c->go_fd);
		close_fd(&c->err_fd);
		c->pid = 0;
	}
	return err;
}

int child_start(struct child *c, const char *name)
{
	ssize_t n;
	int e;

	n = write(c->go_fd, "", 1);
	close_fd(&c->go_fd);
	if (n != 1) {
		pr_err("cannot run '%s': its process was killed before exec", name);
		return -ECHILD;
	}
	do
		n = read(c->err_fd, &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close_fd(&c->err_fd);
	if (n != sizeof(e))
		return 0;	/* closed by a successful exec */
	pr_err("cannot run '%s': %s", name, strerror(e));
	return -e;
}

bool child_check(struct child *c)
{
	/*
	 * As the first process of a container we inherit all orphans, and nobody else reaps them.
	 */
	const bool first = getpid() == 1;
	pid_t pid;
	int status;

	if (!c->pid && !first)
		return false;
	while ((pid = waitpid(first ? -1 : c->pid, &status, WNOHANG)) > 0) {
		if (pid != c->pid)
			continue;
		c->status = status;
		c->ended = true;
	}
	return c->ended;
}

void child_stop(struct child *c)
{
	bool waiting = c->go_fd >= 0;

	close_fd(&c->go_fd);
	close_fd(&c->err_fd);
	if (!c->pid || c->ended)
		return;
	if (!waiting)
		kill(c->pid, SIGTERM);
	while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
		;
	c->ended = true;
}
