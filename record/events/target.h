/* Whom to record: from the lists on the command line to checked threads, CPUs and cgroups. */
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
	TARGET_COMMAND,		/* a workload of ours */
};

struct target {
	enum target_kind kind;
	uint32_t *pids;		/* as given to -p or -t; owned */
	size_t npids;
	uint32_t *tids;		/* threads to open, sorted, each once; owned */
	size_t ntids;
	uint32_t *cpus;		/* online, each once: those to be sampled, sorted; then the others. Owned */
	size_t ncpus;		/* to be sampled */
	size_t nall;		/* others, too: what is mapped and executed there may run on a sampled one later */
	const char *cpu_list;	/* as given to -C; borrowed, NULL = all */
	struct cgroup_list cgroups;	/* owned */
	struct cgroup_fs fs;	/* fs.fd -1 when there is no cgroup file system */
	struct containers *containers;	/* owned; NULL unless they were chosen by what they are */
};

/*
 * Resolve @o. 0; -EINVAL after a message when the options make no sense; another negative errno
 * after a message when the target is not there. Own with target_fini() in any case.
 */
int target_resolve(struct target *t, const struct record_opts *o);
void target_fini(struct target *t);

/* The workload's process becomes the one thread of a TARGET_COMMAND. */
void target_set_child(struct target *t, uint32_t pid);

/*
 * Of a TARGET_PIDS: list the threads anew. How many there are that were not listed before; 0 when a process is gone, and
 * for other targets.
 */
size_t target_threads_again(struct target *t);

/* Threads, not CPUs or cgroups: they can end, and inherit matters. */
bool target_is_tasks(const struct target *t);

/* "all CPUs", "pid 12,13", "cgroup a,b" for people and for the INFO block. */
void target_describe(const struct target *t, struct strbuf *out);

/*
 * "0,2-4" to numbers, sorted, each once, all at most @max; *@out is owned by the caller (NULL on
 * failure). 0 or -EINVAL. Pure. Ranges only with @ranges.
 */
int list_parse(const char *text, bool ranges, uint32_t max, uint32_t **out, size_t *n);

#endif
