/* Sums of a ledger and their text, for the recorder and the programs that show. */
#ifndef NSPROF_LEDGER_SUMS_H
#define NSPROF_LEDGER_SUMS_H

#include "base/strbuf.h"
#include "event.h"

/* Samples that the kernel took, as far as known. */
uint64_t ledger_sums_taken(const struct ev_ledger *l);
/* Samples that should be whole in the file but are not: cut, lost and dropped. */
uint64_t ledger_sums_missing(const struct ev_ledger *l);
/*
 * Is the coverage known? Not without a count, nor when all samples are lost: then nobody knows what
 * they stood for.
 */
bool ledger_sums_has_coverage(const struct ev_ledger *l);
/*
 * Share of the kernel's count that lies in periods that ended with a sample, in percent. Lost
 * samples are assumed to have the average period. The rest is in no sample: see
 * contrib/doc/losses.md. Only if ledger_sums_has_coverage(). Meaningless for a clock limited to
 * user space or to the kernel: it counts all time.
 */
double ledger_sums_coverage(const struct ev_ledger *l);
/*
 * Append "12 with cut stacks, 310 lost, 4 dropped, 7 without user stacks, about 9 not taken when
 * throttled", without the zeros, so perhaps nothing. The recorder's own samples are left out: they
 * are not lost.
 */
void ledger_sums_text(const struct ev_ledger *l, struct strbuf *out);
/*
 * Append other limits of the samples: "; a CPU was offline for a time". Nothing when there are
 * none.
 */
void ledger_sums_absences(const struct ev_ledger *l, struct strbuf *out);

#endif
