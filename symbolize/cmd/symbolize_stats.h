/*
 * What could not be found out from a recording: --stats, and the one-line hint without it. All on
 * stderr.
 */
#ifndef NSPROF_SYMBOLIZE_STATS_H
#define NSPROF_SYMBOLIZE_STATS_H

#include "naming/missing.h"

struct collect_states;

/*
 * Prints samples by how their stack ends, what is missing (missing.h), where names were looked for,
 * names by source, and losses.
 */
void stats_print(const struct missing_input *in);
/* Prints one line that says what is missing and what to do about it, if that is worth a hint. */
void stats_hint(const struct missing_input *in);
/* Warns if time off the CPU is not complete. */
void stats_states(const struct collect_states *st);
/*
 * Prints a line for each container that its CPU limit throttled: its profile has to be read with
 * that in mind.
 */
void stats_throttled(const struct replay *rp);

#endif
