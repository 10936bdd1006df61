/*
 * Whose the losses of a perf.data are. All events of a CPU write to one ring, and PERF_RECORD_LOST tells of the ring
 * (kernel/events/ring_buffer.c); what each event has lost in all is known at the end only, from PERF_FORMAT_LOST, which
 * perf 6.1 and later write down as PERF_RECORD_LOST_SAMPLES without a time (record__read_lost_samples() in
 * tools/perf/builtin-record.c).
 */
#ifndef NSPROF_IMPORT_LOSSES_H
#define NSPROF_IMPORT_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/perfdata.h"
#include "sink/ledger.h"

struct import_losses {
	struct u64map told;	/* second since the recording's start << 16 | CPU -> records the rings had no room for */
	uint64_t sum;		/* of these */
};

/* A ring of @cpu had no room for @n records, as it says at @time; @start is the recording's, both ns. */
void import_losses_told(struct import_losses *il, uint32_t cpu, uint64_t time, uint64_t start, uint64_t n);
/*
 * At the end: to the ledger what the events that are taken (perfdata_attr.taken) have lost, and what perf's event for side-band has. The rings' records are spread in
 * proportion, what they did not tell of is of @stopped (ns), and what other events have lost is in no ledger of this recording. Where no event's
 * losses are known (perf before 6.1, a file without an end), all are taken for samples of these, as are its records of
 * mappings where there is no event for side-band.
 */
void import_losses_settle(const struct import_losses *il, const struct perfdata *pd, struct ledger *lg,
			  uint64_t start, uint64_t stopped);
void import_losses_fini(struct import_losses *il);

#endif
