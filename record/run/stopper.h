/*
 * Signals that end a recording. A thread waits for them, since the one that drains may hang in a file system that does not answer: the
 * first one is passed on to the loop, the second ends the program at once.
 */
#ifndef NSPROF_STOPPER_H
#define NSPROF_STOPPER_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct stopper {
	pthread_t thread;
	sigset_t signals;	/* that end it */
	_Atomic int signo;	/* the first that came; 0 = none */
	int fd;			/* eventfd(2): readable then; -1: no thread, who waits takes @signals himself */
	int last;		/* one of @signals, 0 = there is none */
	_Atomic bool over;	/* the thread is to end with the next one */
	bool up;
	bool quiet;		/* says nothing while the first one is waited for */
};

#define STOPPER_INIT { .fd = -1 }

/*
 * Of the blocked @signals, takes those that mean the end, and leaves the others in *@rest. They stay blocked. Without a thread (none can be
 * started) *@rest has them all.
 */
void stopper_start(struct stopper *s, const sigset_t *signals, sigset_t *rest);
/* The signal that came first, 0 = none yet. Clears @fd. */
int stopper_signo(struct stopper *s);
/* Ends the thread. Signals that come afterwards stay pending. */
void stopper_fini(struct stopper *s);

#endif
