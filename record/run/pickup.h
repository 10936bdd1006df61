/*
 * Cgroups that come to match what was asked for while the recording runs: containers that start or restart under
 * their name, new ones of a pod, of a pattern. The kernel tells of each cgroup that is made (PERF_RECORD_CGROUP);
 * the runtime's state file comes a little later, so it is looked for a few times.
 */
#ifndef NSPROF_PICKUP_H
#define NSPROF_PICKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "containers/lookup.h"
#include "events/open.h"

struct pickup {
	struct events *ev;		/* borrowed; so are its target and options */
	struct lookup *lk;		/* borrowed */
	bool looking;			/* an answer of it is waited for */
	bool asked;			/* something can match later */
	unsigned int tries;		/* looks still to come for the last news */
	uint64_t next;			/* when the next one is due, ns of CLOCK_MONOTONIC */
	uint64_t pause;			/* to the one after it */
};

/* @lk: of the target's containers; NULL: nothing is ever picked up. */
void pickup_init(struct pickup *p, struct events *ev, struct lookup *lk);

/* A cgroup was made somewhere. Cheap; nothing is looked at here. */
void pickup_news(struct pickup *p);

/*
 * If it is time: look what matches now, add it to the target, open its events (@on: enabled). @fn is called for each
 * that was added, @err: 0, or why its events could not be opened.
 */
void pickup_step(struct pickup *p, uint64_t now, bool on,
		 void (*fn)(void *ctx, const struct cgroup *cg, int err), void *ctx);

#endif
