/*
 * Signals that end a recording. A thread of its own waits for them, because the draining thread may
 * hang in a file system that does not answer. The first signal goes on to the loop; the second one
 * ends the program at once.
 */
#ifndef NSPROF_STOPPER_H
#define NSPROF_STOPPER_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>

struct stopper {
	pthread_t thread;
	sigset_t signals;	/* the signals that end it */
	_Atomic int signo;	/* the first one that came; 0 = none */
	int fd;			/* eventfd(2), readable then; -1: no thread */
	int last;		/* one of @signals; 0 = there is none */
	_Atomic bool over;	/* the next signal ends the thread */
	bool up;
	bool confined;		/* the thread gives up its rights, since it needs none */
	sem_t ready;		/* posted when it has */
	bool quiet;		/* no message when ending takes long */
};

#define STOPPER_INIT { .fd = -1 }

/*
 * Takes those of the blocked @signals that end a recording, and leaves the others in *@rest. They
 * stay blocked. If no thread can be started, *@rest has all of them.
 */
void stopper_start(struct stopper *s, const sigset_t *signals, sigset_t *rest);
/* Waits until the thread has given up its rights, if it should. */
void stopper_settle(struct stopper *s);
/* The signal that came first, 0 = none yet. Clears s->fd. */
int stopper_signo(struct stopper *s);
/* Ends the thread. Later signals stay pending. */
void stopper_fini(struct stopper *s);

#endif
