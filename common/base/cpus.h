/* How many threads are worth starting. */
#ifndef NSPROF_CPUS_H
#define NSPROF_CPUS_H

/* CPUs that this process may use (sched_setaffinity(2)), at least 1. */
unsigned int cpus_usable(void);

#endif
