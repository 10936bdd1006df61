/* The pass over a recording: every sample is counted in a tree of stacks. */
#ifndef NSPROF_COLLECT_H
#define NSPROF_COLLECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "profile/filter.h"
#include "recording/rec_events.h"
#include "replay/filtered_out.h"
#include "replay/leading_frames.h"
#include "replay/pending_joins.h"
#include "replay/replay.h"
#include "replay/stacktree.h"
#include "replay/thread_times.h"
#include "replay/waits.h"
#include "support/location.h"
#include "support/progress.h"
#include "unwind/callchain.h"

struct collect_waits;
struct container_names;
struct intern;
struct rec_reader;
struct sample_fields;

struct collect_opts {
	struct lead lead;
	enum lead_by split;	/* another outermost frame, to split outputs by; LEAD_NONE: none */
	const struct filter *filter;	/* borrowed; NULL: all samples */
	/* borrowed; NULL: the recording has one event, without a name */
	const struct rec_events *events;
	uint32_t event;		/* only samples of this one; REC_EVENTS_ALL: of all */
	/* borrowed; fields for lead.field and profile_thread.fields (sample_fields.h); NULL: none */
	const char *fields;
	bool payloads;		/* with @each: keep the records of tracepoints, too */
	/* borrowed; names that the recording has only after samples; NULL: none */
	const struct container_names *names;
	/* borrowed; tids to unwind even if filtered out (filtered_out.h); NULL: none */
	const struct u64map *walked;
	const struct unwinder_ops *unwinder;
	uint64_t start;		/* with @block_ns: start of the recording, as ev_sample.time */
	uint64_t block_ns;	/* not 0: also count by thread and block (collect.spread) */
	bool each;		/* also keep every single sample (collect.each); one thread only */
	bool ordered;		/* one thread only: counts are in the order of the recording */
	bool all_waits;		/* also those of kernel threads */
	bool keep_parked;	/* those of parked threads with their stacks */
	uint64_t brief_ns;	/* shorter waits are shown without their stacks, in one frame */
	bool misses_wakeups;	/* as cpu_times_miss_wakeups() */
	const char *kallsyms;	/* as in naming_opts; borrowed */
	bool throttles;		/* wait_reason_throttles() of the recorded kernel */
	uint32_t max_stack;	/* frames kept per stack, from the leaf */
	bool progress;		/* show progress on stderr, after a second */
};

/* What is known of one event's samples. */
struct collect_event {
	uint64_t period_min, period_max;	/* of all seen, also those that a filter left out */
	/* Waits if switches weigh its samples: as in a profile's facts (profile.h). */
	uint64_t truncated, incomplete;
	/* In the recording, before any filter. */
	uint64_t kept, cut, withheld;	/* as in struct ev_ledger */
	bool states;		/* its samples are counted only by state, when it is known how long they stand for */
};

/* What switches say, over all threads that are shown. */
struct collect_states {
	bool known;
	uint64_t ns[STATES];	/* in the outputs; STATE_RUNNING only with ROLE_WALL */
	uint64_t unsampled_ns;		/* of these, without a stack; not STATE_RUNNING */
	uint64_t parked_ns;		/* of these, of parked threads, without their stack */
	/* In the whole recording. on + off + gap = wall, ns. */
	uint64_t wall_ns, on_ns, off_ns, gap_ns;
	uint64_t threads;		/* lives of threads */
	uint64_t open;			/* of these, off a CPU at the end */
	uint64_t kernel_threads;	/* left out */
	bool by_kernel, by_wakeups;	/* what tells how long woken threads waited for a CPU */
	struct cpu_times_doubts doubts;
	struct waits_counts counts;
};

/*
 * With opts.each: one sample, in the order of the recording. The count in the slot whose block is
 * its index has its stack.
 */
struct collect_each {
	uint64_t time, period;	/* ns as in ev_sample.time; the event's unit */
	uint32_t cpu;
	uint32_t thread;	/* in spread.threads */
	uint32_t event;
	uint32_t payload_len;	/* bytes; 0: none */
	size_t payload;		/* offset in collect.payloads */
};

struct collect {
	struct collect_opts opts;
	struct replay *rp;	/* borrowed */
	struct callchain *cc;
	struct locations locs;
	struct stacktree tree;	/* of location ids */
	struct intern *texts;	/* LOC_TEXT: owner is an id in it; frames of folded text */
	struct strbuf lead;	/* buffer for making frames */
	uint32_t truncated, broken, empty; /* LOC_TEXT locations for incomplete stacks */
	uint32_t scan; /* LOC_TEXT location where a caller was found by scanning the stack */
	struct u64map threads;	/* tid -> index in leads */
	struct lead_node *leads;
	size_t nleads;
	size_t leads_cap;
	struct pending_joins pending;
	/* empty without opts.block_ns and opts.each; its texts are ids in @texts, and text (escape.h) */
	struct thread_times spread;
	/* with opts.block_ns: time of the last sample, filtered out or not, ns since the start */
	uint64_t last_time;
	struct collect_each *each;	/* owned */
	size_t neach, each_cap;
	struct strbuf payloads;	/* with opts.payloads */
	struct sample_fields *fields;	/* owned; NULL without opts.fields */
	struct strbuf values;	/* of @fields in the current sample */
	struct last_path *last;	/* the last stack of each CPU, LAST_PATHS of them */
	struct recent_frame *recent;	/* owned; RECENT_FRAMES of them, by address */
	struct doubt *doubts;	/* owned; samples with two possible stacks (maybe_entered) */
	size_t ndoubts, doubts_cap;
	struct replay_share *share;	/* borrowed; one of several in parallel; NULL: alone */
	atomic_uint_fast64_t *all_samples;	/* with @share: of all shares, updated in steps */
	bool selects;		/* some samples may be left out */
	bool leads_event;	/* LEAD_EVENT is among the leading frames */
	bool leads_state;	/* so is LEAD_STATE: this location stands for it until the state is known */
	uint32_t state_mark;
	struct collect_waits *waits;	/* owned; NULL: no samples are weighed by switches */
	struct collect_states states;
	bool late;		/* some samples were collected before their container was named */
	bool stopped;		/* with @share: interrupted, takes no more samples */
	struct progress progress;
	/* counts */
	uint64_t samples;	/* in the tree */
	uint64_t seen;		/* in the tree or filtered out */
	uint64_t others;	/* of events that are not wanted: neither */
	struct collect_event *events;	/* owned; by ev_sample.event */
	uint32_t nevents;
	struct filtered_out leftout;
	uint64_t verdicts[UNWIND_END_MAX];
	/*
	 * module id << 8 | enum unwind_end -> samples; for UNWIND_NO_JIT_ROWS, COLLECT_AT_IMAGE |
	 * image index instead of the id
	 */
	struct u64map ended_in;
};

#define COLLECT_AT_IMAGE 0x80000000u
#define COLLECT_NO_IMAGE UINT32_MAX	/* process of a thread whose process is not known */

void collect_init(struct collect *c, struct replay *rp, const struct collect_opts *opts);
void collect_fini(struct collect *c);
/*
 * 0, COLLECT_STOPPED if interrupted (interrupt.h), or -EIO after a message. What was collected is
 * valid in each case. With c->share, call collect_add() and collect_settle() afterwards.
 */
enum { COLLECT_STOPPED = 1 };
int collect_run(struct collect *c, struct rec_reader *r);
/*
 * Merges one share of the samples (@from, with c->share) into @to, whose replay has seen all events
 * and whose modules are @mods. @all: all shares. After the last one, call collect_settle().
 */
void collect_add(struct collect *to, struct collect *from, struct collect *const *all, size_t nall,
		 struct modules *mods);
void collect_settle(struct collect *to);
/*
 * Do the periods of the samples of @event differ, including samples that were filtered out? Then
 * each sample stands for as many events as its period, and counts of samples are skewed: with a
 * frequency, the kernel starts an event at period 1. REC_EVENTS_ALL: do they for any event?
 */
bool collect_periods_vary(const struct collect *c, uint32_t event);
/*
 * The nodes of the tree, with a weight in place of samples: below a frame of LEAD_EVENT the period, if
 * it varies for that event; otherwise samples. Owned by the caller.
 */
struct stacknode *collect_weigh_by_event(const struct collect *c);
/* With opts.each: the leaf of each sample's stack in the tree. Owned by the caller. */
uint32_t *collect_each_nodes(const struct collect *c);
/* Does a stack that ends like this get a frame that marks it as incomplete? */
bool collect_incomplete(enum unwind_end end);

#endif
