/*
 * Does perf_event reach the cgroups? cgroup v2 enables it for each cgroup implicitly
 * (cgrp_dfl_implicit_ss_mask in kernel/cgroup/cgroup.c). But the root passes it on only when its
 * cgroup.subtree_control changes or a v1 hierarchy takes a controller: nothing else calls
 * cgroup_propagate_control() for the root. Until then, perf_event_open(2) finds no cgroup but the
 * root (ENOENT), and PERF_SAMPLE_CGROUP is the root in every sample. systemd and the container
 * runtimes enable controllers there, so this affects small machines with neither.
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

/* Tries one cgroup of @fs, which is open. If we lack the right to try, it counts as reached. */
enum cgroup_reach cgroup_perf_reach(const struct cgroup_fs *fs);

/* Does perf_event_open(2) not find @cg, although it exists? */
bool cgroup_perf_lacks(const struct cgroup *cg);

/*
 * cgroup_perf_explain() appends the reason to @text and a helpful command to @remedy;
 * cgroup_perf_remedy() only the command.
 */
void cgroup_perf_explain(const struct cgroup_fs *fs, struct strbuf *text, struct strbuf *remedy);
void cgroup_perf_remedy(const struct cgroup_fs *fs, struct strbuf *remedy);

#endif
