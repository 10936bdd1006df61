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
#include "run/off_cpu.h"
#include "run/thinning.h"
#include "sink/drain.h"
#include "sink/sink.h"

enum loop_end {
	LOOP_SIGNAL,		/* see loop.signo */
	LOOP_CHILD,		/* the command ended */
	LOOP_GONE,		/* all recorded threads ended */
	LOOP_DURATION,
	LOOP_FULL,		/* --max-size is reached */
	LOOP_STOPPED,		/* by --control */
	LOOP_WRITE_ERROR,	/* see sink.err; if that is 0, it was reported already */
};

/* The descriptors that the loop waits with. */
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
	struct stopper *stopper;	/* the signals that it takes end the loop, too */
	struct standstill still;
	struct thinning thinning;
	struct off_cpu off_cpu;
	struct control *control;	/* fd -1: there is none */
	bool start_off;			/* sampling is off at the start */
	const uint64_t *toggles_ms;	/* ms after the start: on, off, on ...; rising */
	size_t ntoggles;
	uint64_t duration_ns;		/* counted from when sampling is first on; 0 = none */
	uint64_t least_ring;		/* bytes: smaller rings do not show whether we keep up */
	/*
	 * Work that can wait until sampling has begun. Each call does a slice; false: nothing is
	 * left.
	 */
	bool (*settle)(void *ctx);
	/*
	 * All events have been on since @time (ns), or were until then. All records that are not newer are
	 * taken, and of switches no others. Not for a command's exec. The first call is in enabled_at.
	 */
	void (*toggled)(void *ctx, bool on, uint64_t time);
	/* All records until @time (ns) are taken. */
	void (*drained)(void *ctx, uint64_t time);
	void *settle_ctx;		/* for all three */
	bool settling;
	bool usr2_told;
	bool on;			/* sampling is on */
	size_t next_toggle;
	uint64_t started;		/* ns, same clock as enabled_at; 0: loop_run() sets it. That of a command's exec */
	int signo;			/* the signal that ended it */
	uint64_t enabled_at;		/* ns, CLOCK_MONOTONIC; 0 = never */
	struct loop_fds fds;
	bool open;			/* the fds are open */
};

/*
 * Does all that can fail before anything begins. Needs ev, drain, signals, stopper and control of
 * @l. 0, or negative errno after a message. Call loop_close() in any case.
 */
int loop_open(struct loop *l);
void loop_close(struct loop *l);

/*
 * After loop_open(). Switches the events on and off as requested, unless the workload's exec does.
 */
enum loop_end loop_run(struct loop *l);

#endif
