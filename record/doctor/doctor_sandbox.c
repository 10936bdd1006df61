/*
 * Confines a child as a recorder with -a confines itself, and says what the kernel then reports of
 * it.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "host/sandbox.h"
#include "run/confine.h"

struct answer {
	struct sandbox_state state;
	int err;
};

static void __attribute__((noreturn)) confined(int to)
{
	struct confine c = { .late_events = true, .kernel = true };
	struct answer a = { .err = 0 };

	confine_prepare(&c);
	confine_rights(&c);
	a.err = confine_calls(&c);
	sandbox_state(&a.state);
	_exit(write(to, &a, sizeof(a)) != sizeof(a));
}

static int ask(struct answer *a)
{
	int fds[2], status, err = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (!pid)
		confined(fds[1]);
	if (pid < 0)
		err = -errno;
	close(fds[1]);
	n = err ? 0 : read(fds[0], a, sizeof(*a));
	close(fds[0]);
	if (!err && (waitpid(pid, &status, 0) != pid || status || n != sizeof(*a)))
		err = -EIO;
	return err;
}

void doctor_sandbox(struct check *c)
{
	struct answer a;
	int err = ask(&a), landlock;

	if (err) {
		c->verdict = VERDICT_UNKNOWN;
		strbuf_addf(&c->text, "no process could be confined to see: %s", strerror(-err));
		return;
	}
	if (a.err || !a.state.filter || !a.state.no_new_privs)
		c->verdict = VERDICT_NOT_OK;
	strbuf_adds(&c->text, "a recorder has ");
	confine_describe(&a.state, a.err, &c->text);
	/* A recorder and its openers look into other processes, which Landlock would forbid (contrib/doc/sandbox.md). */
	landlock = sandbox_landlock_version();
	if (landlock)
		strbuf_addf(&c->text, "; parsers also have no paths (Landlock %d)", landlock);
	else
		strbuf_adds(&c->text, "; parsers lack Landlock, which this kernel does not have or does not enable");
}
