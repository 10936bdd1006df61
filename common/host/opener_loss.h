/*
 * Time lost to files and processes that do not answer. Each thread has a deadline for one operation
 * and a share of its time that it may lose, in all and to each tenant. What did not answer is
 * remembered, by tenant and object. It is asked again when the opener that waits for it gets an
 * answer, at growing intervals, and reported in the end. Operations that are answered cost nothing
 * here.
 */
#ifndef NSPROF_OPENER_LOSS_H
#define NSPROF_OPENER_LOSS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/fileop.h"
#include "host/hungmount.h"

struct opener_patience {
	uint64_t each_ns;	/* longest wait for one answer */
	uint64_t least_ns;	/* the same when everything else is used up */
	uint64_t burst_ns;	/* may be lost at once */
	uint64_t tenant_burst_ns;	/* the same to one tenant */
	unsigned int percent;	/* of the time since may be lost, too */
	unsigned int tenant_percent;
};

/*
 * The tenant that the next operations of this thread are for. @tenant: a hash; 0 = unknown. @who:
 * its cgroup, for the report; copied. @pid: the process whose files they are; 0 = unknown.
 */
void opener_for(uint64_t tenant, const char *who, uint32_t pid);
/*
 * What they are about: something that answers or does not as a whole, such as a process. @what: for the
 * report; borrowed until the next call. 0 and NULL: the folder that an operation names.
 */
void opener_about(uint64_t object, const char *what);
/* The same for a mapped file of device @dev (makedev()): all files of a device answer, or none. */
void opener_about_dev(dev_t dev, const char *what);
/* For this thread; borrowed. NULL: that of a program whose user waits (the default). */
void opener_be(const struct opener_patience *p);
/* For a thread that must not be late. */
extern const struct opener_patience opener_hurried;
/* The same while side-band comes so fast that the rings hold only some tens of ms of it. */
extern const struct opener_patience opener_flooded;
/*
 * The end of a recording: pauses between two tries are over, and all that may be lost from now on
 * is @ns. Work and waits for a CPU or a disk do not count.
 */
void opener_last_chance(uint64_t ns);

/* How long to wait for @op, ns. 0: not at all, and if it is never read it counts as a miss. *@key: for the next two. */
uint64_t opener_loss_wait(const struct fileop *op, uint64_t *key);
/* The longest wait, ns, regardless of losses: for an opener that waits for a CPU. */
uint64_t opener_loss_most(void);
/*
 * @local: with a file of a file system that answers by itself. Such an object keeps its full deadline. @slept: ns
 * that the opener waited for anything but a CPU. It counts as lost for threads that must not be late.
 */
void opener_loss_answered(const struct fileop *op, uint64_t key, bool local, uint64_t slept);
/*
 * It lost @ns. @opener hangs, and is to be killed afterwards. @sock: its socket, taken; while it hangs, the
 * object is not asked again.
 */
void opener_loss_lost(const struct fileop *op, uint64_t key, uint64_t ns, pid_t opener, int sock);

/* How long threads that must not be late have lost so far, ns: for all tenants, and for the one that cost most. */
void opener_waited(uint64_t *all, uint64_t *most);

struct opener_miss {
	const char *who;	/* the tenant's cgroup; "" = unknown */
	const char *what;	/* "/tmp/perf-7.map", "the mappings" */
	uint32_t pid;		/* of the process; 0 = unknown */
	dev_t dev;		/* it is about all mapped files of this device; 0 = it is not */
	bool mappings;		/* it is about the mappings of the process */
	struct hungmount mount;	/* what is known about where it is */
	uint64_t tries;		/* 0: never asked: its tenant had answered too late before */
	bool hangs;		/* an opener still waits, or mount.waits; otherwise it was only late, and nobody asked again */
};
/*
 * Calls @fn for each file or process that was not read because nothing answered. Returns how many
 * more there were.
 */
uint64_t opener_misses(void (*fn)(void *ctx, const struct opener_miss *m), void *ctx);
/*
 * Forgets those for which @missing returns false: they were read in another way, or are no longer
 * needed.
 */
void opener_misses_settle(bool (*missing)(void *ctx, const struct opener_miss *m), void *ctx);
/* The number of these and of those that were left out. */
uint64_t opener_unread(void);

#endif
