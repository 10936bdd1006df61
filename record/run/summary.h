/* The closing lines of a recording, on stderr: what was written, what was not, and why. */
#ifndef NSPROF_SUMMARY_H
#define NSPROF_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "events/record_opts.h"
#include "run/standstill.h"
#include "sink/ledger.h"
#include "sink/switch_sums.h"

struct summary {
	const char *file;	/* "nsprof.data", "standard output" */
	uint64_t files;		/* written in this run; if more than 1, @file is the last */
	bool piped;		/* to standard output, which has no name */
	bool stays;		/* what was written can be read again */
	uint64_t bytes;		/* written */
	uint64_t elapsed_ns;	/* while the events were enabled */
	uint64_t ncpus;
	uint64_t ring_bytes;	/* data ring of one CPU */
	bool clock;		/* the event counts ns of CPU time */
	bool work;		/* the event counts whenever something runs */
	bool covers;		/* samples cover all it counts: see ledger_sums_coverage() */
	bool picked;		/* all was sampled, and samples of other cgroups left out */
	bool tasks;		/* events belong to threads, not to CPUs or cgroups */
	uint64_t events;	/* possibly stopped within a period; a thread has one per CPU */
	uint64_t ended;		/* with @tasks: threads that ended during the recording */
	const struct standstill *still;
	uint64_t stall_ns;	/* the longest time that the output took for a block */
	bool terminal;		/* stderr is a terminal: suggest the next command */
	uint64_t barred;	/* programs that the kernel lets nobody sample */
	const char *barred_comm;	/* the first one's */
	bool idle;		/* nothing ran in any of the chosen cgroups (cgroup_coverage.h) */
	size_t waiting;		/* threads that live and whose switches are recorded */
	const struct switch_sums *times;	/* of all recorded threads, with --off-cpu */
	size_t nevents;		/* of several events, the fields here are about the first */
	size_t counted;		/* events that the kernel counted at all */
	const char *event;	/* "cpu-clock"; its modifier: "", "u" or "k" */
	const char *modifier;
	uint64_t period;	/* of the event; for clocks 1/frequency in ns; 0 = it changes */
	uint64_t lowest;	/* Hz: lowest of later events under a lower kernel limit; 0: none */
	uint64_t freq;		/* Hz */
	bool used_known;	/* used_us: CPU time of the chosen cgroups by cpu.stat */
	uint64_t used_us;
	bool failed;		/* writing failed, which was reported: print only what was kept */
};

/* Prints the line about one of several files. @l: its ledger. */
void summary_file(const struct ev_ledger *l, const char *file, uint64_t bytes);

/* Prints the closing lines, and one line of advice for each problem. */
void summary_print(const struct ledger *lg, const struct record_opts *o, const struct summary *s);

#endif
