/* How much memory the process may use. */
#ifndef NSPROF_MEMLIMIT_H
#define NSPROF_MEMLIMIT_H

#include <stdint.h>

/*
 * The lowest limit, in bytes, of the memory cgroups that contain this process: memory.max (version
 * 2) and memory.limit_in_bytes (version 1) below /sys/fs/cgroup, the usual mount point
 * (cgroups(7)). This also works in a container that only sees its own part of the hierarchy.
 * UINT64_MAX: no limit is known.
 */
uint64_t memlimit_bytes(void);

#endif
