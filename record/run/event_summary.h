/* The closing lines about each event, where a recording has several or had to thin one. */
#ifndef NSPROF_EVENT_SUMMARY_H
#define NSPROF_EVENT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "events/events.h"
#include "sink/ledger.h"
#include "sink/sampled_events.h"

/* How many events the kernel counted at all. @counts: of the whole run. */
size_t event_summary_counted(const struct events *ev, const struct ledger_part *counts);
/*
 * @counts: of the whole run. @began: ns of CLOCK_MONOTONIC, when sampling did. Prints nothing for
 * one event that was sampled as it was asked for.
 */
void event_summary_print(const struct events *ev, const struct sampled_events *se, const struct ledger_part *counts, uint64_t began);

#endif
