/* Waits for rings, time and signals, and drains until there is a reason to stop. */
#ifndef NSPROF_LOOP_H
#define NSPROF_LOOP_H

#include <signal.h>
#include <stdint.h>

#include "child.h"
#include "drain.h"
#include "open.h"
#include "sink.h"

enum loop_end {
	LOOP_SIGNAL,		/* see loop.signo */
	LOOP_CHILD,		/* the command ended */
	LOOP_GONE,		/* all recorded threads ended */
	LOOP_DURATION,
	LOOP_WRITE_ERROR,	/* see sink.err */
	LOOP_BROKEN,		/* no descriptors to wait with; said already */
};

struct loop {
	struct events *ev;		/* all borrowed */
	struct drain *drain;
	struct sink *sink;
	struct child *child;
	const sigset_t *signals;	/* blocked; any but SIGCHLD ends the loop */
	uint64_t delay_ns, duration_ns;	/* 0 = none */
	int signo;			/* the signal that ended it */
	uint64_t enabled_at;		/* ns, CLOCK_MONOTONIC; 0 = never */
};

/* ns of CLOCK_MONOTONIC, the clock of all records. */
uint64_t loop_now(void);

/* Enables the events (at once or after the delay) unless the workload's exec did. */
enum loop_end loop_run(struct loop *l);

#endif
