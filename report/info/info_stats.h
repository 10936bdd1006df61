/* Counts over a whole recording, for `nsprof info`. */
#ifndef NSPROF_INFO_STATS_H
#define NSPROF_INFO_STATS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/intern.h"
#include "code/code_pack.h"
#include "info/info_budgets.h"
#include "info/info_events.h"
#include "info/info_times.h"
#include "info/info_ledger.h"
#include "recording/ctr_table.h"
#include "recording/rec_reader.h"

struct info_container {
	uint32_t cgroup;	/* path (a container has its own), in info_stats.strings; 0 =
				 * unknown */
	const struct ctr *ctr;	/* facts about the container, in info_stats.ctrs; NULL = none */
	uint64_t samples;
	uint64_t periods;	/* as info_stats.periods */
	uint64_t processes;	/* processes with samples in it */
};

struct info_process {
	uint32_t serial;	/* ev_proc.serial; 0: samples came without facts */
	uint32_t pid;		/* in the recorder's PID namespace */
	uint32_t nspid;		/* in the innermost namespace; 0 = unknown */
	uint32_t comm, exe, cgroup;	/* in info_stats.strings; 0 = unknown */
	uint64_t samples;
	uint64_t periods;	/* as info_stats.periods */
	uint64_t again;		/* ns: when its facts were last repeated; 0 = never */
};

enum { INFO_CAPTURE_KINDS = 7 }; /* by enum capture_kind; 0 = kinds unknown to this version */

struct info_stats {
	struct intern *strings;			/* owned */
	struct info_container *container;	/* owned; largest sum of periods first */
	size_t ncontainers, container_cap;
	size_t nsampled;		/* how many of them have samples of their own */
	struct ctr_table *ctrs;		/* owned */
	struct info_process *process; /* owned; largest sum of periods first, none without samples */
	size_t nprocesses, process_cap;
	uint64_t samples, threads, binaries, mappings;
	/*
	 * Sum of the samples' periods; ns for clocks, else events. With several events, whose units
	 * differ, 1 for each sample.
	 */
	uint64_t periods;
	uint64_t period_min, period_max;
	uint64_t truncated;		/* samples whose stack copy has the full requested size */
	uint64_t cut;			/* samples whose stack copy the recorder cut */
	uint64_t unmasked;		/* samples that keep every word of the stack */
	uint64_t first, last;		/* ns of CLOCK_MONOTONIC: earliest and latest sample */
	struct info_ledger ledger;
	struct info_budgets budgets;
	struct info_events events;
	struct info_times times;
	uint64_t captures[INFO_CAPTURE_KINDS], capture_bytes[INFO_CAPTURE_KINDS];
	struct code_counts code;	/* over all binaries with captured code */
	struct u64map code_of;		/* binary -> owned struct code_counts * */
};

/* Reads all of @r. 0, or -EIO after a message; @st then holds what came before the error. */
int info_stats_collect(struct rec_reader *r, struct info_stats *st);
void info_stats_fini(struct info_stats *st);

#endif
