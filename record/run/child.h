/*
 * The command behind "--": started in two steps, so that everything is ready before it runs, and a
 * command that cannot run is known before anything is recorded.
 */
#ifndef NSPROF_CHILD_H
#define NSPROF_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0 = no command */
	int go_fd;	/* owned; a byte starts it, closing it ends it */
	int err_fd;	/* owned; its errno, or nothing once it runs */
	bool ended;
	int status;	/* of waitpid(2), when ended */
};

#define CHILD_INIT { 0, -1, -1, false, 0 }

/* Is there a program of that @name, as execvp(3) looks for one? 0, or negative errno after a message. Nothing is run. */
int child_find(const char *name);
/*
 * Fork and wait before exec. @mask: signal mask to run the command with. @stdout_taken: its stdout
 * becomes stderr, because ours is the recording. 0, or negative errno after a message.
 */
int child_prepare(struct child *c, char **argv, const sigset_t *mask, bool stdout_taken);
/* Let it go. 0 when it runs; else negative errno of exec after a message. */
int child_start(struct child *c, const char *name);
/* Did it end? Does not wait. */
bool child_check(struct child *c);
/* End a command that was not started; ask one that runs to end (SIGTERM) and wait for it. */
void child_stop(struct child *c);

#endif
