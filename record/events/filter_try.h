/* Does the kernel take the filters of tracepoints? */
#ifndef NSPROF_FILTER_TRY_H
#define NSPROF_FILTER_TRY_H

#include "evlist/evlist.h"

/*
 * Tries each filter on an event that is never enabled. 0, or negative errno after a message if the
 * kernel refuses one. If such an event cannot be opened, the reason is left to the recording's own.
 */
int filter_try(const struct evlist *el);

#endif
