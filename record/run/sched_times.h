/*
 * The kernel's own times of threads (/proc/PID/task/TID/schedstat), for recordings of switches. They
 * tell how long a thread waited for a CPU after it was woken, and whether one that never switches
 * runs or waits. They are read when recording begins and when it ends, also where it is switched off
 * in between. What a thread had when it exited, nobody can read any more.
 *
 * The files need neither a file system nor a process's memory, so they never wait, and are read
 * without an opener (nsopen.h).
 */
#ifndef NSPROF_SCHED_TIMES_H
#define NSPROF_SCHED_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"
#include "events/target.h"
#include "sink/sink.h"

/* At the end, for the times of all threads together, and again for their names. One takes some 10 us. */
#define SCHED_TIMES_END_NS 200000000ull

struct thread_times {
	struct ev_schedstat ev;
	uint64_t asked;		/* ns, before they were read */
};

struct sched_times {
	struct sink *sink;		/* borrowed, as target */
	const struct target *target;
	struct ev_schedstat *v;		/* owned; what was read and is not written, in the order of time */
	size_t n, cap;
	uint64_t drained;		/* ns: that of the last sched_times_write() */
	struct ev_schedstat before;	/* tid 0, or what this thread had before it came into the target */
	/* While a segment ends: its threads, of which [0, at) have been asked, and what they answered. */
	uint64_t *threads;		/* owned; switch_threads_key() */
	size_t nthreads, threads_cap, at, missing;
	struct thread_times *last;	/* owned */
	size_t nlast, last_cap;
	uint64_t left_ns;		/* CPU time that reading may still take */
	bool cutting, told;
	/* What they answered when the segment before it ended. */
	struct thread_times *prev;	/* owned */
	size_t nprev, prev_cap;
	struct u64map prev_at;		/* switch_threads_key() to its index */
	/* Recording goes on: these threads were there before, and [0, resumed_at) have been asked. */
	uint64_t *resumed;		/* owned; switch_threads_key() */
	size_t nresumed, resumed_cap, resumed_at;
	bool off;			/* it is switched off */
};

/*
 * Does nothing later if @sink does not take switches. @off: recording begins with sched_times_toggle(), and
 * not at once.
 */
void sched_times_init(struct sched_times *st, struct sink *sink, const struct target *target, bool off);
void sched_times_fini(struct sched_times *st);

/* Reads the times of the first thread of @pid. Without an answer, @ev has no thread. */
void sched_times_read(uint32_t pid, struct ev_schedstat *ev);
/* Reads the times that the recorded threads of process @pid have now. */
void sched_times_begin(struct sched_times *st, uint32_t pid);
/*
 * All switches are recorded from @time (ns) on, or were until then. Once all that is not newer is
 * written, this writes it, and reads the times of threads as it goes off. As it goes on,
 * sched_times_resume() reads those of all threads that were there before: in slices of some
 * milliseconds, until it returns false.
 */
void sched_times_toggle(struct sched_times *st, bool on, uint64_t time);
bool sched_times_resume(struct sched_times *st);
/*
 * A file or segment of a series is about to end, which began at @since (ns): its threads have to be in
 * it, and in the next one, also if nothing happens to them there. Takes the times of all that live and
 * writes who they are, those without a switch since @since first. Each call takes some milliseconds.
 * False: drain, and call it again.
 *
 * Reading takes at most 2 % of the segment's time on a CPU, and SCHED_TIMES_END_NS the first time. The times
 * of a thread that has been off the CPU since they were read last are still right, and are not read again.
 * Threads that would have to be read and are not reached are left out, which a warning says once.
 */
bool sched_times_cut(struct sched_times *st, uint64_t since);
/* The next one has begun, at @now (ns): writes there what sched_times_cut() read. */
void sched_times_again(struct sched_times *st, uint64_t now);
/* Calls @fn for each process of the host that is no kernel thread. */
void sched_times_all(void (*fn)(void *ctx, uint32_t pid), void *ctx);
/* Reads them again, for all threads that live and whose first times are in the recording, unless it is off. */
void sched_times_end(struct sched_times *st);
/*
 * Writes who the threads are that have no sample: those that never woke up, and others that were not
 * off a CPU often enough. After the last event.
 */
void sched_times_tell(struct sched_times *st);
/*
 * Writes what was read until @time (ns). Not before all other events that are older: readers need
 * forks before the switches that follow them.
 */
void sched_times_write(struct sched_times *st, uint64_t time);

#endif
