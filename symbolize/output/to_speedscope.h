/* A profile for speedscope. Source of the form: file-format-schema.json of github.com/jlfwong/speedscope. */
#ifndef NSPROF_TO_SPEEDSCOPE_H
#define NSPROF_TO_SPEEDSCOPE_H

#include <stdbool.h>
#include <stdio.h>

struct profile;

/*
 * One profile for each thread, its samples by blocks of time; weights are samples, or with @period events. Write errors stay in @to's error flag.
 */
void to_speedscope(FILE *to, const struct profile *p, bool period);

#endif
