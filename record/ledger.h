/* What was recorded and what was not, by cause, and the two lines that say so at the end. */
#ifndef NSPROF_LEDGER_H
#define NSPROF_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "record_opts.h"

struct events;

struct ledger {
	struct ev_ledger l;
	uint64_t lost_told;	/* samples by PERF_RECORD_LOST in the data rings */
	uint64_t lost_pmu;	/* samples by PERF_RECORD_LOST_SAMPLES: never reached a ring */
	uint64_t side_told;	/* records by PERF_RECORD_LOST in the side-band rings */
	uint64_t woken;		/* times the drain loop ran */
};

/*
 * Settle lost_kernel and lost_sideband when all events are stopped and all rings are empty: from
 * the events' own count where the kernel keeps one (6.0), which includes losses after which no
 * record could be written any more; else from the records.
 */
void ledger_settle(struct ledger *lg, const struct events *ev);

struct ledger_summary {
	const char *file;	/* "nsprof.data", "standard output" */
	bool piped;		/* nothing stays that could be read again */
	uint64_t bytes;		/* written */
	uint64_t elapsed_ns;	/* events enabled */
	uint64_t ncpus;
	uint64_t ring_bytes;	/* data ring of one CPU */
	bool failed;		/* writing failed: said already, so only what was kept is told */
};

/* The closing lines on stderr, and one line of advice for each thing that went wrong. */
void ledger_print(const struct ledger *lg, const struct record_opts *o,
		  const struct ledger_summary *s);

#endif
