/*
 * Which file system an opener waits for, from what the kernel answers without asking it: its own
 * caches, /proc/PID/mountinfo, and where the opener waits.
 */
#ifndef NSPROF_HUNGMOUNT_H
#define NSPROF_HUNGMOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/fileop.h"

struct hungmount {
	uint64_t id;		/* of the mount; 0 = unknown */
	char *type;		/* "fuse.sshfs", owned; NULL = unknown */
	char *point;		/* where it is mounted, below the root of the process; owned; NULL = unknown */
	bool waits;		/* the opener waited for another computer, a program or a lock, not for a CPU or a disk */
	bool memory;		/* it waited for the lock of a process's mappings */
};

/*
 * Fills in what is known about operation @op, which opener @opener still carries out. @pid: the process
 * whose files they are; 0 = unknown, then mounts are looked up among ours. @dev: device of the file as the
 * kernel reports mappings (makedev()); 0 = unknown.
 */
void hungmount_find(const struct fileop *op, pid_t opener, uint32_t pid, dev_t dev, struct hungmount *out);
void hungmount_fini(struct hungmount *hm);

#endif
