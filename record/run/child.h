/*
 * The command behind "--". It is forked first and runs exec once everything is ready. A command
 * that cannot run is known before anything is recorded.
 */
#ifndef NSPROF_CHILD_H
#define NSPROF_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0 = no command */
	int go_fd;	/* owned; a byte starts the command, closing it ends the child */
	int err_fd;	/* owned; carries errno of exec, or nothing once the command runs */
	bool ended;
	int status;	/* of waitpid(2), when ended */
};

#define CHILD_INIT { 0, -1, -1, false, 0 }

/*
 * Is there a program @name where execvp(3) looks? 0, or negative errno after a message. Runs
 * nothing.
 */
int child_find(const char *name);
/*
 * Forks a child that waits before exec. @mask: signal mask to run the command with. @stdout_taken:
 * the command's stdout becomes stderr, because ours is the recording. 0, or negative errno after a
 * message.
 */
int child_prepare(struct child *c, char **argv, const sigset_t *mask, bool stdout_taken);
/*
 * Lets the child exec. 0 once the command runs; otherwise negative errno of exec after a message.
 */
int child_start(struct child *c, const char *name);
/* Did it end? Does not wait. */
bool child_check(struct child *c);
/* Ends a command that was not started. Asks a running one to end (SIGTERM) and waits for it. */
void child_stop(struct child *c);

#endif
