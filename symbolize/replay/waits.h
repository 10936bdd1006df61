/*
 * Time off the CPU by stack. Switches tell how long each wait was; samples, taken of some of them as
 * the thread left the CPU, tell where it waited. Stacks are weighed so that all of a thread's waits
 * of one kind and of about one length add up to their exact sum, whatever share of them was
 * sampled. So two waits that alternate are told apart by their lengths even if samples meet one
 * more often than the other.
 *
 * The same is done for samples of running threads and their exact time on a CPU, if wanted.
 *
 * Stacks are opaque numbers here, and so is what the caller calls the thread of a sample.
 */
#ifndef NSPROF_WAITS_H
#define NSPROF_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "recording/cpu_times.h"

struct waits;

/* What a thread does, for a part of the profile. */
enum wait_kind {
	WAIT_RUNNING,
	WAIT_BLOCKED,
	WAIT_QUEUED,	/* after it was woken: a part of a wait whose rest is WAIT_BLOCKED */
	WAIT_PREEMPTED,
	WAIT_STARTING,	/* CPU_STARTING */
	WAIT_BEFORE,	/* CPU_BEFORE */
	WAIT_KINDS,
};

/* Instead of a stack: this sample counts for the shares of others, but is not shown. */
#define WAITS_HIDDEN UINT32_MAX

struct waits_opts {
	uint64_t start;		/* as in cpu_times_new() */
	bool running;		/* also weigh samples of running threads */
	uint64_t brief_ns;	/* of shorter waits only the sum is wanted, without stacks */
	uint64_t long_ns;	/* waits from this length on are kept one by one; 0: none is */
	/* ns of [from, to) that are wanted; NULL: all. Times as in ev_switch.time. */
	uint64_t (*within)(const void *ctx, uint64_t from, uint64_t to);
	/* A wait of that many ns is over, and its sample had this stack. NULL: nobody asks. */
	void (*closed)(void *ctx, uint32_t stack, uint64_t ns);
	/* As cpu_times_ops.ended. */
	void (*ended)(void *ctx, uint32_t thread);
	void *ctx;
};

struct waits *waits_new(const struct waits_opts *opts);
void waits_free(struct waits *w);	/* accepts NULL */

/* What events tell. Pass them on to this; it is owned. */
struct cpu_times *waits_times(struct waits *w);
/*
 * A sample taken as the thread left a CPU, or with @running while it had one; then @weight says how
 * much it stands for. Before the switch that follows it.
 */
void waits_sample(struct waits *w, const struct ev_sample *ev, bool running, uint32_t stack, uint32_t thread,
		  uint64_t weight);
/* After the last event. Ends all lives. */
void waits_end(struct waits *w);

/*
 * After waits_end(): replaces stacks and threads, which are not WAITS_HIDDEN, with what @map makes of
 * them. Equal ones are joined.
 */
void waits_map(struct waits *w, void (*map)(void *ctx, uint32_t *stack, uint32_t *thread), void *ctx);
/*
 * Adds the samples of @from, another share of the same recording that saw all events, to @to. Both
 * are after waits_end(), and stacks and threads mean the same in both.
 */
void waits_add(struct waits *to, const struct waits *from);

/* A part of the result. */
struct wait_part {
	uint32_t life;		/* index in cpu_times_threads() */
	enum wait_kind kind;
	bool sampled;		/* @stack and @thread are known; else none of these waits had a sample, */
	bool brief;		/* or they were shorter than waits_opts.brief_ns */
	uint32_t stack, thread;
	uint64_t n;		/* waits; of WAIT_RUNNING: samples, at least 1 */
	uint64_t ns;
	/*
	 * When: a long wait has its own time, other waits with a sample that of their first, and waits
	 * without one from their first to their last.
	 */
	uint64_t from, to;
};

/*
 * Gives the result in an order that does not depend on shares. Per life and kind, and over all,
 * the parts add up to the exact time. Samples that are WAITS_HIDDEN are left out.
 */
void waits_result(struct waits *w, void (*fn)(void *ctx, const struct wait_part *part), void *ctx);

struct waits_counts {
	uint64_t waits;		/* blocked and preempted */
	uint64_t sampled;	/* of these */
	uint64_t unmatched;	/* samples that no switch belongs to: of lost ones, or of exits */
	uint64_t dropped;	/* samples that were too many to wait for their switch */
};
struct waits_counts waits_counts(const struct waits *w);
/* Totals in the wanted time, ns by kind; WAIT_QUEUED as far as wake-ups are recorded. */
void waits_totals(const struct waits *w, uint64_t ns[WAIT_KINDS]);

#endif
