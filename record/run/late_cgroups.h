/*
 * Cgroups that come to match what was asked for while the recording runs: containers that start or restart under
 * their name, new ones of a pod, of a pattern. The kernel tells of each cgroup that is made (PERF_RECORD_CGROUP);
 * the runtime's state file comes a little later, so it is looked for a few times.
 */
#ifndef NSPROF_LATE_CGROUPS_H
#define NSPROF_LATE_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "containers/container_lookup.h"
#include "events/open.h"

struct late_cgroups {
	struct events *ev;		/* borrowed; so are its target and options */
	struct container_lookup *lk;		/* borrowed */
	bool looking;			/* an answer of it is waited for */
	bool asked;			/* something can match later */
	unsigned int tries;		/* looks still to come for the last news */
	uint64_t next;			/* when the next one is due, ns of CLOCK_MONOTONIC */
	uint64_t pause;			/* to the one after it */
};

/* @lk: of the target's containers; NULL: nothing is ever picked up. */
void late_cgroups_init(struct late_cgroups *p, struct events *ev, struct container_lookup *lk);

/* A cgroup was made somewhere. Cheap; nothing is looked at here. */
void late_cgroups_news(struct late_cgroups *p);

/*
 * If it is time: look what matches now, add it to the target, open its events (@on: enabled). @fn is called for each
 * that was added, @err: 0, or why its events could not be opened.
 */
void late_cgroups_step(struct late_cgroups *p, uint64_t now, bool on,
		 void (*fn)(void *ctx, const struct cgroup *cg, int err), void *ctx);

#endif
