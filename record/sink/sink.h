/*
 * Where records from the rings end. Side-band goes to the process table. Samples are decoded in
 * place, masked, and handed to the writer. With many CPUs, several threads mask runs of samples
 * (maskers.h), which are then written in their order. No allocation per sample.
 */
#ifndef NSPROF_SINK_H
#define NSPROF_SINK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/cgroup.h"
#include "events/record_opts.h"
#include "events/sample_parse.h"
#include "mask/maskers.h"
#include "mask/seen_addrs.h"
#include "procs/proctab.h"
#include "recording.h"
#include "recording/rec_writer.h"
#include "sink/last_copies.h"
#include "sink/ledger.h"
#include "sink/pressure.h"
#include "sink/sampled_events.h"
#include "sink/sink_cgroups.h"
#include "sink/sink_ksyms.h"
#include "sink/switch_sums.h"
#include "sink/switch_threads.h"
#include "sink/woken_threads.h"

/* Samples masked together if there are helpers; otherwise each by itself. */
#define SINK_BATCH 256u

struct sink_slot {		/* a sample on its way */
	struct raw_sample raw;
	struct proc *proc;
	struct maskset_held held;
	bool withheld;			/* the user part is left out, as CHAIN_WITHHELD says */
	bool unmapped;			/* without a stack; ip is CHAIN_UNMAPPED */
	struct mask_job job;
	const struct last_copy *recent;	/* the sample before, source of @job.last; NULL: unknown */
	const struct ring *ring;	/* borrowed; where the sample is; NULL: elsewhere */
};

struct sink_cpu {		/* by CPU number */
	uint64_t outs;		/* threads that left it */
};

struct sink_switch {
	bool is_wakeup;
	union {
		struct ev_switch sw;
		struct ev_wakeup wakeup;
	};
};

struct sink {
	const struct record_opts *opts;		/* borrowed, as all pointers here unless noted */
	struct proctab *pt;
	struct rec_writer *w;
	struct ledger *ledger;
	struct sample_layout layout;	/* of the event, if there is only one */
	struct sampled_events *events;	/* NULL: there is one, and its period stays */
	bool shared_side;		/* side-band is among the samples: a loss may be of either */
	bool leave_own;			/* samples of ourselves are left out */
	uint32_t own_pid;
	struct u64map openers;		/* set of pids of our openers that began while recording */
	int err;			/* first write error, negative errno: ends all writing */
	struct pressure pressure;
	struct seen_addrs *seen;		/* owned */
	struct sink_cgroups cgroups;
	struct sink_ksyms ksyms;
	uint64_t begun, ended;		/* threads, from side-band */
	uint32_t clock;			/* the event whose samples stand for CPU time */
	uint64_t chosen, chosen_ns;	/* its samples of the target, and the sum of their periods */
	uint64_t chosen_all;		/* samples of the target, of all events */
	struct maskers *maskers;	/* owned */
	struct sink_slot *slot;		/* owned; nslots of them, the first n in use */
	struct stack_words *words;	/* owned; one for each slot; NULL with @recents */
	struct last_copies *recents;	/* owned; NULL: several threads mask stacks, in any order */
	uint64_t serial;		/* of the sample written last */
	uint64_t chain[REC_CHAIN_LEN];	/* of one sample, masked */
	/*
	 * Switches and wake-ups that wait for the samples before them to be written: a reader needs
	 * these first. Owned, as @cpus.
	 */
	struct sink_switch *switches;
	size_t nswitches, switches_cap;
	struct switch_threads threads;
	struct switch_sums sums;	/* if they are recorded */
	struct woken_threads woken;	/* with --wakeups; */
	uint32_t woken_at;		/* as wakeup_source.pid_at */
	struct sink_cpu *cpus;
	size_t ncpus, cpus_cap;
	struct mask_job **jobs;		/* owned; room for nslots */
	size_t n, nslots;
};

/*
 * @helpers: threads other than the caller that mask. For samples from rings, set s->layout or s->events.
 * Release with sink_free().
 */
struct sink *sink_new(const struct record_opts *o, const struct cgroup_fs *fs, struct proctab *pt,
		      struct rec_writer *w, struct ledger *ledger, unsigned int helpers);
void sink_free(struct sink *s);

/* Takes the result of a write: 0, or negative errno. */
static inline void sink_written(struct sink *s, int err)
{
	if (err < 0 && !s->err)
		s->err = err;
}

/* The segment ends, with @last the recording. Writes what became known of its cgroups only now. */
void sink_end(struct sink *s, bool last);

/* A new segment begins: what samples refer to has to be written again. */
void sink_cut(struct sink *s, uint64_t now_ns);

/*
 * For a sample that is not in a ring: fill in what this returns, as sample_parse() does, then call
 * sink_take(). Its pointers must stay valid until sink_pending() is 0.
 */
struct raw_sample *sink_slot(struct sink *s);
void sink_take(struct sink *s);

/*
 * Takes one whole record of at least sizeof(*h) + LAYOUT_ID_SIZE bytes. @sideband: the kind of ring
 * that it came from. @ring: the one that has it at its tail (borrowed), NULL if elsewhere. Drops
 * and counts a record if its inner lengths do not fit. Errors of the writer stay in s->err. The
 * sink may go on reading @h until sink_pending() is 0, and what @ring keeps until sink_finish().
 */
void sink_record(struct sink *s, const struct perf_event_header *h, uint64_t time, const struct ring *ring,
		 bool sideband);
/*
 * After each drain: @now in ns, @rings: percent of the fullest ring in use again. Takes the steps
 * that are due, and records them.
 */
void sink_pressure(struct sink *s, uint64_t now, unsigned int rings);
/* At the end: adds the steps taken and the pool's use to the ledger. */
void sink_settle(struct sink *s);
/* Samples that are still in their rings. */
static inline size_t sink_pending(const struct sink *s)
{
	return s->n;
}
/* Finishes them. */
void sink_flush(struct sink *s);
/* The same; then all records go back to the kernel. */
void sink_finish(struct sink *s);

#endif
