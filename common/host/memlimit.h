/* How much memory the process may have. */
#ifndef NSPROF_MEMLIMIT_H
#define NSPROF_MEMLIMIT_H

#include <stdint.h>

/*
 * The lowest limit of the memory cgroups that this process is in, bytes: memory.max of version 2, memory.limit_in_bytes of
 * version 1, below /sys/fs/cgroup as it is mounted everywhere (cgroups(7)), also where a container sees its own part of
 * it only. UINT64_MAX: none is known.
 */
uint64_t memlimit_bytes(void);

#endif
