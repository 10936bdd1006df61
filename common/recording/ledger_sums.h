/* What a ledger adds up to, and how it is said in one line: for the recorder and all that shows. */
#ifndef NSPROF_LEDGER_SUMS_H
#define NSPROF_LEDGER_SUMS_H

#include "base/strbuf.h"
#include "event.h"

/* Samples the kernel took, as far as is known. */
uint64_t ledger_sums_taken(const struct ev_ledger *l);
/* Of these, the ones that are not whole in the file though they should be: cut, lost and dropped. */
uint64_t ledger_sums_missing(const struct ev_ledger *l);
/*
 * Is anything known of that share: was something counted, and are not all samples lost, so that nobody knows what they
 * stood for?
 */
bool ledger_sums_has_coverage(const struct ev_ledger *l);
/*
 * How much of the kernel's count lies in periods that ended with a sample, in percent; lost samples are
 * taken for average ones. What is missing is in no sample: see contrib/doc/losses.md. For ledger_sums_has_coverage()
 * only. It says nothing of a clock limited to user space or to the kernel, which counts all time.
 */
double ledger_sums_coverage(const struct ev_ledger *l);
/*
 * Append "12 with cut stacks, 310 lost, 4 dropped, about 9 not taken when throttled": only what is not 0,
 * so perhaps nothing. Samples of the recorder itself are no loss and left out.
 */
void ledger_sums_text(const struct ev_ledger *l, struct strbuf *out);
/* "; a CPU was offline for a time": what else limits the samples, nothing when nothing does. */
void ledger_sums_absences(const struct ev_ledger *l, struct strbuf *out);

#endif
