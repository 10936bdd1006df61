/*
 * Time lost to what does not answer. Each thread has a deadline for one operation and a share of its
 * time that it may lose, in all and to each tenant. What did not answer is remembered. It is asked
 * again when the opener that waits for it gets an answer, at growing intervals, and reported in the
 * end. Operations that are answered cost nothing here.
 */
#ifndef NSPROF_OPENER_LOSS_H
#define NSPROF_OPENER_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/fileop.h"

/* Whom the next operations of this thread are for. */
struct opener_subject {
	uint64_t tenant;	/* a mount namespace or the like; 0 = unknown */
	uint64_t object;	/* what answers or does not as a whole: a device, a process; 0 = take the folder */
	const char *what;	/* borrowed; a path for the report; NULL = take the operation's */
};

struct opener_patience {
	uint64_t each_ns;	/* longest wait for one answer */
	uint64_t least_ns;	/* the same when all else is used up */
	uint64_t burst_ns;	/* may be lost at once */
	uint64_t tenant_burst_ns;	/* the same to one tenant */
	unsigned int percent;	/* of the time since may be lost, too */
	unsigned int tenant_percent;
};

/* @s is copied; its text is borrowed. NULL: nobody known. For this thread. Returns the former one. */
struct opener_subject opener_for(const struct opener_subject *s);
/* For this thread; borrowed. NULL: that of a program whose user waits (the default). */
void opener_be(const struct opener_patience *p);
/* For a thread that must not be late. */
extern const struct opener_patience opener_hurried;
/*
 * The end of a recording: pauses between two tries are over, and all waiting together takes no more
 * than @ns.
 */
void opener_last_chance(uint64_t ns);

/* How long to wait for @op, ns. 0: not at all. *@key: for the next two. */
uint64_t opener_loss_wait(const struct fileop *op, uint64_t *key);
void opener_loss_answered(uint64_t key);
/* It lost @ns. @sock: of the opener that hangs, taken; while it does, the object is not asked again. */
void opener_loss_lost(const struct fileop *op, uint64_t key, uint64_t ns, int sock);

struct opener_miss {
	uint64_t tenant;
	const char *what;	/* "/tmp/perf-7.map" */
	uint64_t tries;
};
/* Calls @fn for what has not answered until now. Returns their number, also of those left out. */
uint64_t opener_misses(void (*fn)(void *ctx, const struct opener_miss *m), void *ctx);

#endif
