/*
 * What a recording could and could not tell: "--stats", and the one line without it. All to stderr.
 */
#ifndef NSPROF_SYMBOLIZE_STATS_H
#define NSPROF_SYMBOLIZE_STATS_H

#include "naming/missing.h"

/*
 * Everything: samples by how their stack ends, what is missing (missing.h), where names were looked for,
 * names by source.
 */
void stats_print(const struct missing_input *in);
/* One line when there is something to say, with what to do about it; else nothing. */
void stats_hint(const struct missing_input *in);
/* A line for each container that its CPU limit held back: their profiles are read differently. */
void stats_throttled(const struct replay *rp);

#endif
