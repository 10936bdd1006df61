/* What to record: from the lists on the command line to checked threads, CPUs and cgroups. */
#ifndef NSPROF_TARGET_H
#define NSPROF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "containers/cgroup.h"
#include "containers/containers.h"
#include "events/record_opts.h"

enum target_kind {
	TARGET_ALL,		/* everything on the CPUs */
	TARGET_PIDS,		/* processes with all their threads */
	TARGET_TIDS,		/* single threads */
	TARGET_CGROUPS,
	TARGET_COMMAND,		/* a workload started by us */
};

struct target {
	enum target_kind kind;
	uint32_t *pids;		/* as given to -p or -t; owned */
	size_t npids;
	uint32_t *tids;		/* threads to open, sorted, without duplicates; owned */
	size_t ntids;
	/* online, without duplicates: first those to sample, sorted; then the others. Owned */
	uint32_t *cpus;
	size_t ncpus;		/* CPUs to sample */
	/* all CPUs: what is mapped and executed on the others may run on a sampled one later */
	size_t nall;
	const char *cpu_list;	/* as given to -C; borrowed, NULL = all */
	struct cgroup_list cgroups;	/* owned */
	struct cgroup_fs fs;	/* fs.fd is -1 if there is no cgroup file system */
	struct containers *containers;	/* owned; NULL unless containers were selected */
};

/*
 * Resolves @o. 0; -EINVAL after a message if the options are invalid; another negative errno after
 * a message if the target does not exist. Release with target_fini() in any case.
 */
int target_resolve(struct target *t, const struct record_opts *o);
void target_fini(struct target *t);

/* Makes the workload's process the only thread of a TARGET_COMMAND. */
void target_set_child(struct target *t, uint32_t pid);

/*
 * Lists the threads of a TARGET_PIDS again. Returns the number of new threads; 0 if a process is
 * gone, and for other targets.
 */
size_t target_threads_again(struct target *t);

/* Are they threads, not CPUs or cgroups? Threads can end, and inheritance matters. */
bool target_is_tasks(const struct target *t);

/* "all CPUs", "pid 12,13", "cgroup a,b": for people and for the INFO block. */
void target_describe(const struct target *t, struct strbuf *out);

#endif
