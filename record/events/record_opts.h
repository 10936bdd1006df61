/* The options given to nsprof record. */
#ifndef NSPROF_RECORD_OPTS_H
#define NSPROF_RECORD_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evlist/evlist.h"

/* What is kept of the fields of tracepoints. */
enum payloads {
	PAYLOADS_NONE,
	PAYLOADS_NUMBERS,	/* text is zeroed: it may be data of users */
	PAYLOADS_ALL,
};

#define FREQ_DEFAULT 99
/* Bytes of records per second and CPU of all events without a rate; see events_thins(). */
#define EVENT_BUDGET_DEFAULT 20000000ull
#define EVENT_BUDGET_NONE UINT64_MAX

struct record_opts {
	struct event_spec *specs;	/* owned; at least one: without -e, that of "cycles" */
	size_t nspecs, cap_specs;
	uint64_t freq;			/* samples per second and CPU, where nothing else is asked for */
	bool strict_freq;		/* a frequency that is not available is an error */
	uint64_t period;		/* the last -c, for messages; 0: the last was -F, or neither */
	enum payloads payloads;
	uint64_t event_budget;		/* 0 = the default, for events that nobody gave a rate */
	/* Time off the CPU: one stack per about so many switches; 0 = adapted to how many there are. */
	bool off_cpu;
	uint64_t off_cpu_every;
	bool wall;			/* the same beside a clock */
	bool wakeups;			/* record who is woken, beside them */
	uint64_t off_cpu_thresh_ns;	/* outputs show shorter waits together, without stacks */
	bool optional_events;		/* record without events that cannot be opened */
	enum callgraph callgraph;	/* of events without terms of their own; never CALLGRAPH_UNSET */
	uint32_t dump_size;	/* bytes of stack copied per sample, a multiple of 8; dwarf only */
	bool user_chains, kernel_chains;	/* only the user or kernel part of callchains */
	bool full_stacks;		/* --stacks=full */
	bool all_user, all_kernel;
	const char *pids, *tids, *cpus;	/* lists as typed; NULL = not given */
	char *cgroups;			/* all -G lists joined by commas; NULL = not given */
	char *containers, *pods, *cgroup_of;	/* lists as typed, joined in the same way */
	char *runtime_roots;		/* all --runtime-root, joined by ':'; NULL = not given */
	bool all_cpus;			/* -a */
	bool include_self;		/* sample the recorder, too */
	bool no_inherit;
	bool no_sandbox;		/* keep all rights */
	bool dry_run;			/* check everything that can be checked, then exit */
	uint64_t realtime;		/* SCHED_FIFO priority of the recorder; 0 = none */
	const char *proc;		/* --proc; NULL = /proc */
	const char *output;		/* NULL = the default name */
	uint64_t ring_bytes;		/* -m, a power of two; 0 = sized by time */
	bool start_off;			/* -D: do not sample from the start */
	/* owned, ascending; ms after the start when sampling goes on, off, on ... */
	uint64_t *toggles_ms;
	size_t ntoggles;
	const char *control;		/* --control; NULL = none */
	uint64_t duration_ns;		/* 0 = until the target ends or a signal arrives */
	/* write a series of files: a new one at SIGUSR2 and by the following */
	bool switch_output;
	uint64_t switch_bytes, switch_ns;	/* 0 = no limit */
	uint64_t switch_max_files;	/* 0 = keep all */
	bool overwrite;			/* keep the last seconds in memory, write them at SIGUSR2 */
	uint64_t overwrite_ns;		/* how much time is kept */
	uint64_t max_bytes;		/* stop when this much is written; 0 = never */
	char **command;			/* NULL-terminated argv; NULL = none */
	char *cmdline;			/* the whole command line, for the INFO block */
};

#endif
