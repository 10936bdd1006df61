/* One recording from the first check to the closing lines. */
#ifndef NSPROF_SESSION_H
#define NSPROF_SESSION_H

#include "events/record_opts.h"

/*
 * Returns the exit status. *@signo: the signal to end by instead, as perf does. It is the one that
 * ended the recording or the workload; 0 = none.
 */
int session_run(const struct record_opts *o, int *signo);

#endif
