/* Names of events for completion. */
#ifndef NSPROF_LIST_NAMES_H
#define NSPROF_LIST_NAMES_H

#include <stdio.h>

#include "evlist/evlist.h"

/*
 * Prints the names that continue @typed, one per line: of events, and of groups of tracepoints with
 * their colon. The tracepoints of a group only if @typed has its colon: there are thousands.
 */
void list_names(const char *typed, const struct evlist_places *places, FILE *to);

#endif
