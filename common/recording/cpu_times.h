/*
 * When threads were on a CPU and when they were off it, from their switches. Each life of a thread
 * is a sequence of spells without gaps, from its fork or the beginning of the recording to its exit
 * or the end. So on + off + unknown is its wall time, to the nanosecond. While recording is switched
 * off, no time passes.
 *
 * What is missing is not guessed: if two switches in a row go the same way, others were lost
 * between them, and the time from one to the other is CPU_GAP.
 */
#ifndef NSPROF_CPU_TIMES_H
#define NSPROF_CPU_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct cpu_times;

enum cpu_state {
	CPU_ON,
	CPU_BLOCKED,	/* it gave the CPU away */
	CPU_PREEMPTED,	/* it lost the CPU although it could go on running */
	CPU_STARTING,	/* from its fork until it first runs */
	CPU_BEFORE,	/* off since the recording began or went on: the reason is unknown */
	CPU_GAP,	/* unknown, because switches are missing */
	CPU_STATES,
};

#define CPU_TIMES_MAX (1u << 18)	/* lives of threads that are followed */
#define CPU_WINDOWS_MAX (1u << 20)

/* Switches are recorded in [from, to): ns as in ev_switch.time. */
struct cpu_window {
	uint64_t from, to;
};

/* One life of a thread: a later thread of the same number is another one. */
struct cpu_thread {
	uint32_t pid, tid;
	uint64_t begin, end;		/* ns as in ev_switch.time; @end: also the end so far */
	uint64_t paused_ns;		/* of these, recording was switched off */
	uint64_t ns[CPU_STATES];	/* complete after cpu_times_end() */
	uint64_t spells[CPU_STATES];
	/*
	 * The part of the blocked time from recorded wake-ups to the CPU, and the number of these
	 * wake-ups.
	 */
	uint64_t queued_ns, queued;
	bool forked, exited;		/* within the recording; else it begins and ends with that */
	bool open;			/* it was off a CPU when the recording ended */
	/* The kernel's own account of the time from @begin on, if it is known. */
	bool have_sched;
	uint64_t sched_run_ns, sched_wait_ns;
	/* State while events come in: */
	uint8_t state;			/* enum cpu_state, or CPU_STATES: not known yet */
	uint32_t window;		/* in which it was seen last: @since is in it */
	bool fresh;			/* it was forked in that one, */
	bool have_first;		/* and this is its first account there */
	bool unaccounted;		/* an earlier one has no account */
	bool woken_early;		/* woken as it was about to leave, just before @since */
	uint64_t since, waking;		/* ns; 0: not woken */
	uint64_t first_run_ns, first_wait_ns;
	uint64_t earlier_run_ns, earlier_wait_ns;	/* accounts of earlier windows */
};

/* How long it lived while switches were recorded, ns. */
static inline uint64_t cpu_thread_wall(const struct cpu_thread *th)
{
	return th->end - th->begin - th->paused_ns;
}

struct cpu_spell {
	uint32_t thread;	/* index in cpu_times_threads() */
	enum cpu_state state;
	uint64_t from, to;	/* ns as in ev_switch.time */
	uint64_t waking;	/* CPU_BLOCKED: when it was woken; 0: not recorded */
	bool open;		/* it went on after the window */
	bool before;		/* CPU_BLOCKED: the end of a wait that began before the recording */
};

/* What does not fit together. All 0 in a whole recording. */
struct cpu_times_doubts {
	uint64_t gaps;		/* spells that are CPU_GAP */
	uint64_t gap_ns;
	uint64_t disordered;	/* switches older than the one before */
	uint64_t untracked;	/* switches of threads beyond CPU_TIMES_MAX */
};

struct cpu_times_ops {
	/* Each spell of a thread, in the order of time. Both may be NULL. */
	void (*spell)(void *ctx, const struct cpu_spell *spell);
	/* The life of @thread is over, by its exit or the end. Its spells were given. */
	void (*ended)(void *ctx, uint32_t thread);
};

/* @start: beginning of the recording, ns as in ev_switch.time. @ops and @ctx are borrowed. */
struct cpu_times *cpu_times_new(uint64_t start, const struct cpu_times_ops *ops, void *ctx);
void cpu_times_free(struct cpu_times *t);

/*
 * Events in the order in which the reader gives them. Switches may come late: up to a few thousand
 * forks, exits, wake-ups and readings that are newer wait for them. Threads without a number, and
 * the idle ones, are left out.
 */
void cpu_times_fork(struct cpu_times *t, const struct ev_task *ev);
void cpu_times_exit(struct cpu_times *t, const struct ev_task *ev);
void cpu_times_switch(struct cpu_times *t, const struct ev_switch *ev);
void cpu_times_wakeup(struct cpu_times *t, const struct ev_wakeup *ev);
/*
 * Some wake-ups are missing. Then it is not known whether one that came before its thread left the CPU
 * is the one that ended its wait.
 */
void cpu_times_miss_wakeups(struct cpu_times *t);
/* If all times are 0, the thread begins. */
void cpu_times_schedstat(struct cpu_times *t, const struct ev_schedstat *ev);
/* At most CPU_WINDOWS_MAX times. */
void cpu_times_toggle(struct cpu_times *t, const struct ev_toggle *ev);
/* The recording goes on at least until @time. */
void cpu_times_until(struct cpu_times *t, uint64_t time);
/* Ends all lives at the newest time of any event. Call it once, after the last event. */
void cpu_times_end(struct cpu_times *t);

/* All lives, in the order in which they were first seen. Borrowed, until the next event. */
const struct cpu_thread *cpu_times_threads(const struct cpu_times *t, size_t *n);
struct cpu_times_doubts cpu_times_doubts(const struct cpu_times *t);
/* When switches were recorded, in order; complete after cpu_times_end(). Borrowed, as above. */
const struct cpu_window *cpu_times_windows(const struct cpu_times *t, size_t *n);

#endif
