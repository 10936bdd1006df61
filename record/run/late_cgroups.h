/*
 * Cgroups that match the selection only while the recording runs: containers that start or restart
 * under their name, new ones of a pod, of a pattern. The kernel reports each new cgroup
 * (PERF_RECORD_CGROUP). The runtime writes its state file a little later, so we look for it several
 * times.
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
	bool looking;			/* waiting for an answer from it */
	bool asked;			/* the selection can match later cgroups */
	unsigned int tries;		/* looks left since the latest report */
	uint64_t next;			/* when the next one is due, ns of CLOCK_MONOTONIC */
	uint64_t pause;			/* ns to the one after it */
};

/* @lk: for the target's containers; NULL: no cgroup is ever picked up. */
void late_cgroups_init(struct late_cgroups *p, struct events *ev, struct container_lookup *lk);

/* A cgroup was created somewhere. Cheap: only schedules the next looks. */
void late_cgroups_news(struct late_cgroups *p);

/*
 * If a look is due: adds the cgroups that match now to the target and opens their events (@on:
 * enabled). Calls @fn for each of them; @err: 0, or why its events could not be opened.
 */
void late_cgroups_step(struct late_cgroups *p, uint64_t now, bool on,
		 void (*fn)(void *ctx, const struct cgroup *cg, int err), void *ctx);

#endif
