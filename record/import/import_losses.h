/*
 * Assigns the losses in a perf.data to events. All events of a CPU write to one ring, and
 * PERF_RECORD_LOST counts for the ring (kernel/events/ring_buffer.c). The loss of each event is
 * known only at the end, from PERF_FORMAT_LOST. perf 6.1 and later write it as
 * PERF_RECORD_LOST_SAMPLES without a time (record__read_lost_samples() in
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
	/* second since the recording's start << 16 | CPU -> records that the rings dropped */
	struct u64map told;
	uint64_t sum;		/* their sum */
};

/*
 * Notes that the ring of @cpu dropped @n records, as reported at @time. @start: of the recording.
 * Both in ns.
 */
void import_losses_told(struct import_losses *il, uint32_t cpu, uint64_t time, uint64_t start, uint64_t n);
/*
 * Call at the end: writes the losses of each chosen event (perfdata_attr.taken and event) and of
 * perf's side-band event to @lg. Losses reported by rings are distributed in proportion; unreported
 * ones are placed at @stopped (ns). Losses of other events are not in this ledger. If no event's
 * losses are known (perf before 6.1, a file without an end), all count as lost samples of event 0.
 * So do lost mapping records if there is no side-band event.
 */
void import_losses_settle(const struct import_losses *il, const struct perfdata *pd, struct ledger *lg,
			  uint64_t start, uint64_t stopped);
void import_losses_fini(struct import_losses *il);

#endif
