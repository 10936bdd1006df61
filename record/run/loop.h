/* Waits for rings, time and signals, and drains until there is a reason to stop. */
#ifndef NSPROF_LOOP_H
#define NSPROF_LOOP_H

#include <signal.h>
#include <stdint.h>

#include "events/open.h"
#include "run/child.h"
#include "run/control.h"
#include "run/spool.h"
#include "run/standstill.h"
#include "run/stopper.h"
#include "sink/drain.h"
#include "sink/sink.h"

enum loop_end {
	LOOP_SIGNAL,		/* see loop.signo */
	LOOP_CHILD,		/* the command ended */
	LOOP_GONE,		/* all recorded threads ended */
	LOOP_DURATION,
	LOOP_FULL,		/* --max-size is reached */
	LOOP_STOPPED,		/* by --control */
	LOOP_WRITE_ERROR,	/* see sink.err; if that is 0, said already */
};

/* What it waits with. */
struct loop_fds {
	int epoll, signal, tick, deadline, toggle;
};

struct loop {
	struct events *ev;		/* all borrowed */
	struct drain *drain;
	struct sink *sink;
	struct spool *spool;
	struct child *child;
	const sigset_t *signals;	/* blocked; any but SIGCHLD, SIGCONT and SIGUSR2 ends the loop */
	struct stopper *stopper;	/* those that it takes end the loop, too */
	struct standstill still;
	struct control *control;	/* its fd -1 = none */
	bool start_off;			/* sampling is not on from the start */
	const uint64_t *toggles_ms;	/* when it goes on, off, on ... after the start; rising */
	size_t ntoggles;
	uint64_t duration_ns;		/* from when it is on first; 0 = none */
	uint64_t least_ring;		/* bytes: rings below it do not tell whether we keep up */
	/* Work that can wait until sampling has begun, a slice for each call; false: that was all. */
	bool (*settle)(void *ctx);
	void (*enabled)(void *ctx);	/* sampling has just begun; not for a command's exec */
	void *settle_ctx;		/* of both */
	bool usr2_told;
	bool on;			/* sampling is */
	size_t next_toggle;
	uint64_t started;		/* ns, as enabled_at */
	int signo;			/* the signal that ended it */
	uint64_t enabled_at;		/* ns, CLOCK_MONOTONIC; 0 = never */
	struct loop_fds fds;
	bool open;			/* the fds are */
};

/*
 * What can fail, so that it does before anything begins: of @l, ev, drain, signals and control must be set by then. 0, or
 * negative errno after a message. Own with loop_close() in any case.
 */
int loop_open(struct loop *l);
void loop_close(struct loop *l);

/* After loop_open(). Switches the events on and off as asked for, unless the workload's exec does. */
enum loop_end loop_run(struct loop *l);

#endif
