/* What this process knows of itself: its root, its mount namespace, the vdso. */
#ifndef NSPROF_OWN_FACTS_H
#define NSPROF_OWN_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct own_facts {
	dev_t dev;		/* of "/" */
	ino_t ino;
	uint64_t mnt_ns;	/* inode of the mount namespace; 0 = unknown */
	const void *vdso;	/* our own, the same in all 64-bit processes; borrowed forever; NULL = none */
	size_t vdso_size;	/* bytes */
};

/* Reads them. */
void own_facts_read(struct own_facts *own);
/*
 * From now on, own_facts_read() returns what it would now: for a process that will not be able to look
 * (parser.h).
 */
void own_facts_keep(void);

#endif
