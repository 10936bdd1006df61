/*
 * Does perf_event reach the cgroups? cgroup v2 gives it to each cgroup without being asked (cgrp_dfl_implicit_ss_mask in
 * kernel/cgroup/cgroup.c), but hands it down from the root only when the root's cgroup.subtree_control changes or a v1
 * hierarchy takes a controller: nothing else calls cgroup_propagate_control() for the root. Until then perf_event_open(2)
 * finds no cgroup but the root (ENOENT), and PERF_SAMPLE_CGROUP of every sample is the root. systemd and the container
 * runtimes enable controllers there, so that this is the state of small machines without either.
 */
#ifndef NSPROF_CGROUP_PERF_H
#define NSPROF_CGROUP_PERF_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "containers/cgroup.h"

enum cgroup_reach {
	CGROUP_REACH_ALL,
	CGROUP_REACH_ROOT,	/* no cgroup but the root */
	CGROUP_REACH_UNKNOWN,	/* there is no other cgroup to try, and no controller is enabled */
};

/* Tried with one cgroup of @fs, which is open. What we have no right to try counts as reached. */
enum cgroup_reach cgroup_perf_reach(const struct cgroup_fs *fs);

/* @cg exists, and perf_event_open(2) does not find it. */
bool cgroup_perf_lacks(const struct cgroup *cg);

/* Adds why, and a command that helps; only the latter. */
void cgroup_perf_explain(const struct cgroup_fs *fs, struct strbuf *text, struct strbuf *remedy);
void cgroup_perf_remedy(const struct cgroup_fs *fs, struct strbuf *remedy);

#endif
