/* The lines on stderr that end a recording: what was written, what was not and why. */
#ifndef NSPROF_SUMMARY_H
#define NSPROF_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "events/record_opts.h"
#include "run/standstill.h"
#include "sink/ledger.h"

struct summary {
	const char *file;	/* "nsprof.data", "standard output" */
	uint64_t files;		/* written in the run; more than 1: @file is the last */
	bool piped;		/* to standard output, which has no name */
	bool stays;		/* what was written can be read again */
	uint64_t bytes;		/* written */
	uint64_t elapsed_ns;	/* events enabled */
	uint64_t ncpus;
	uint64_t ring_bytes;	/* data ring of one CPU */
	bool clock;		/* the event counts ns of CPU time */
	bool work;		/* it counts whatever runs */
	bool covers;		/* all that the event counts is sampled: see ledger_sums_coverage() */
	bool picked;		/* all was sampled, and what is in other cgroups left out */
	bool tasks;		/* events belong to threads, not to CPUs or cgroups */
	uint64_t events;	/* that may have a part of a period left when they were stopped: of a thread one for each CPU */
	uint64_t ended;		/* threads, while they were recorded; of @tasks */
	const struct standstill *still;
	uint64_t stall_ns;	/* the longest that the output took to take a block */
	bool terminal;		/* messages are read there: the next command is named */
	uint64_t barred;	/* programs that the kernel let nobody sample, and the first one's name */
	const char *barred_comm;
	bool idle;		/* nothing ran in any of the chosen cgroups, which cgroup_coverage_tell() says */
	const char *event;	/* "cpu-clock", and of it "", "u" or "k" */
	const char *modifier;
	uint64_t period;	/* of the event, or 1/frequency in ns for clocks; 0 = changes */
	uint64_t lowest;	/* Hz of what was opened later, where the kernel's limit fell below -F; 0: all had @freq */
	uint64_t freq;		/* Hz */
	bool used_known;	/* CPU time of the chosen cgroups by cpu.stat, us */
	uint64_t used_us;
	bool failed;		/* writing failed: said already, so only what was kept is told */
};

/* The line about one file of several. @l: its ledger. */
void summary_file(const struct ev_ledger *l, const char *file, uint64_t bytes);

/* The closing lines, and one line of advice for each thing that went wrong. */
void summary_print(const struct ledger *lg, const struct record_opts *o, const struct summary *s);

#endif
