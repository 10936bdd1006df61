/*
 * Writes a profile for speedscope. Format: file-format-schema.json of
 * github.com/jlfwong/speedscope.
 */
#ifndef NSPROF_TO_SPEEDSCOPE_H
#define NSPROF_TO_SPEEDSCOPE_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

/*
 * One profile for each event and thread, with its samples by blocks of time. Weights are samples, or
 * events with @period. With several events, each has its own choice (profile_event.by_period). Write errors are left in @to's error flag.
 */
void to_speedscope(FILE *to, const struct profile *p, bool period);

#endif
