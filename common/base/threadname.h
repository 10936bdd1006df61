/* Thread names without their numbers ("--merge-threads"). */
#ifndef NSPROF_THREADNAME_H
#define NSPROF_THREADNAME_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * "worker-12" becomes "worker-N", "pool-3-thread-1" becomes "pool-N-thread-N": digits at the end or
 * behind a separator (anything but a letter or a digit) are replaced. False, with @out undefined,
 * if there are no such digits or no letters.
 */
bool threadname_merge(const char *name, struct strbuf *out);

#endif
