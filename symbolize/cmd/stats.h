/*
 * What a recording could and could not tell: "--stats", and the one line without it. All to stderr.
 */
#ifndef NSPROF_STATS_H
#define NSPROF_STATS_H

#include "naming/gaps.h"

/*
 * Everything: samples by how their stack ends, what is missing (gaps.h), where names were looked for,
 * names by source.
 */
void stats_print(const struct gaps_input *in);
/* One line when there is something to say, with what to do about it; else nothing. */
void stats_hint(const struct gaps_input *in);
/* A line for each container that its CPU limit held back: their profiles are read differently. */
void stats_throttled(const struct replay *rp);

#endif
