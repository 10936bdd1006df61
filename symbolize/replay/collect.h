/* The pass: every sample of a recording becomes a count in a tree of stacks. */
#ifndef NSPROF_COLLECT_H
#define NSPROF_COLLECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "profile/filter.h"
#include "replay/filtered_out.h"
#include "replay/leading_frames.h"
#include "replay/pending_joins.h"
#include "replay/replay.h"
#include "replay/stacktree.h"
#include "replay/thread_times.h"
#include "support/location.h"
#include "support/progress.h"
#include "unwind/callchain.h"

struct container_names;
struct intern;
struct rec_reader;

struct collect_opts {
	struct lead lead;
	enum lead_by split;	/* a frame in front of all others, to tell texts apart by; LEAD_NONE: none */
	const struct filter *filter;	/* borrowed; NULL: all samples */
	const struct container_names *names;	/* borrowed; names that the recording tells only behind samples; NULL: none are known */
	const struct u64map *walked;	/* borrowed; tids all stacks of which are walked (filtered_out.h); NULL: none */
	const struct unwinder_ops *unwinder;
	uint64_t start;		/* with @block_ns: when the recording was begun, ns as in ev_sample.time */
	uint64_t block_ns;	/* not 0: also by thread, and by time in blocks so long (collect.spread) */
	bool each;		/* besides, each sample for itself (collect.each); by one thread only */
	uint32_t max_stack;	/* frames kept of a stack, from the leaf */
	bool progress;		/* tell on stderr how far it is, after a second */
};

/* With opts.each: one sample, in the order of the recording. Its stack: the count in the slot whose block is its index. */
struct collect_each {
	uint64_t time, period;	/* ns as in ev_sample.time; the event's unit */
	uint32_t cpu;
	uint32_t thread;	/* in spread.threads */
};

struct collect {
	struct collect_opts opts;
	struct replay *rp;	/* borrowed */
	struct callchain *cc;
	struct locations locs;
	struct stacktree tree;	/* of location ids */
	struct intern *texts;	/* LOC_TEXT: owner is an id in here; clean already */
	struct strbuf lead;	/* for making frames in */
	uint32_t truncated, broken, empty; /* LOC_TEXT locations for stacks that are not whole */
	uint32_t scan; /* the same, for where a caller was searched for */
	struct u64map threads;	/* tid -> index of its leading node */
	struct lead_node *leads;
	size_t nleads;
	size_t leads_cap;
	struct pending_joins pending;
	struct thread_times spread;	/* empty without opts.block_ns and opts.each; texts are of @texts, and clean */
	uint64_t last_time;	/* with opts.block_ns: ns since the start, of the last sample, those left out too */
	struct collect_each *each;	/* owned */
	size_t neach, each_cap;
	struct last_path *last;	/* the latest stack of each CPU, LAST_PATHS of them */
	struct recent_frame *recent;	/* owned; RECENT_FRAMES of them, by address */
	struct doubt *doubts;	/* owned; samples that can be two stacks (maybe_entered) */
	size_t ndoubts, doubts_cap;
	struct replay_share *share;	/* borrowed; of several that collect at once; NULL: alone */
	atomic_uint_fast64_t *all_samples;	/* with @share: of all together, in steps */
	bool late;		/* samples were collected without the name of their container, which came behind them */
	bool stopped;		/* with @share: asked to, it takes no more samples */
	struct progress progress;
	/* counts */
	uint64_t samples;	/* in the tree */
	uint64_t seen;		/* those left out, too */
	uint64_t period_min, period_max;	/* of all seen */
	struct filtered_out leftout;
	uint64_t verdicts[UNWIND_END_MAX];
	/* module id << 8 | enum unwind_end -> samples; of UNWIND_NO_JIT_ROWS, COLLECT_AT_IMAGE | image index instead of the id */
	struct u64map ended_in;
};

#define COLLECT_AT_IMAGE 0x80000000u

void collect_init(struct collect *c, struct replay *rp, const struct collect_opts *opts);
void collect_fini(struct collect *c);
/*
 * 0, COLLECT_STOPPED when asked to stop (interrupt.h), or -EIO after a message. What was collected
 * stands either way. With c->share, collect_add() and collect_settle() have to follow.
 */
enum { COLLECT_STOPPED = 1 };
int collect_run(struct collect *c, struct rec_reader *r);
/*
 * Of one that collects a share of the samples (c->share), from the shares of all: adds what it has to @to,
 * whose replay has seen all events, and whose modules are @mods. Behind the last one: collect_settle().
 */
void collect_add(struct collect *to, struct collect *from, struct collect *const *all, size_t nall,
		 struct modules *mods);
void collect_settle(struct collect *to);
/*
 * Do the periods of the samples differ, those left out included? Then each sample stands for as many events as its period
 * says, and counts of samples are skewed: the kernel starts an event with a frequency at period 1.
 */
bool collect_periods_vary(const struct collect *c);
/* With opts.each: the leaf in the tree of each sample's stack. Owned by the caller. */
uint32_t *collect_each_nodes(const struct collect *c);
/* Is a stack that ends like this shown with a frame that says so? */
bool collect_incomplete(enum unwind_end end);

#endif
