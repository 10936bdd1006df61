/*
 * Records which containers the samples belong to. For each sampled cgroup it writes an
 * ev_container: the container it belongs to (or the cgroup itself), its names, CPU limit and
 * counters. It does so, too, for the cgroups that a sampled one is in, once they have a CPU limit.
 * Only these are read: at the first sample in a segment, when one of their processes ends, from time
 * to time, and at the segment's end. A removed cgroup keeps the counters of its last reading.
 */
#ifndef NSPROF_CGROUP_FACTS_H
#define NSPROF_CGROUP_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "containers/cgroup.h"
#include "containers/cgroup_cpu.h"
#include "containers/containers.h"
#include "recording/rec_writer.h"

struct cgroup_facts;
struct container_lookup;

/*
 * All arguments are borrowed. @fs is open. @chosen: the target's cgroups, empty unless the target
 * is cgroups; it may grow. If @cs is NULL, containers are looked for at the first cgroup other than
 * the root, also in @roots (containers_new()). Release with cgroup_facts_free(), which accepts
 * NULL.
 */
struct cgroup_facts *cgroup_facts_new(const struct cgroup_fs *fs, const struct cgroup_list *chosen, struct containers *cs,
				      const char *roots, struct rec_writer *w);
void cgroup_facts_free(struct cgroup_facts *cf);

/*
 * Call before writing the first sample of a segment from cgroup @id (0 = unknown). @path: below the
 * hierarchy, "" if unknown. @pid: the sampled process (0 or UINT32_MAX: unknown).
 */
void cgroup_facts_met(struct cgroup_facts *cf, uint64_t id, const char *path, uint32_t pid);
/* Does the recording have a sample from @path, a cgroup of the target, or from a cgroup in it? */
bool cgroup_facts_had_samples(const struct cgroup_facts *cf, const char *path);
/* The name, or else the id, of the container whose cgroup is @path; "" if it is none. Borrowed. */
const char *cgroup_facts_name(const struct cgroup_facts *cf, const char *path);
struct facts_used {
	uint64_t us;		/* CPU time */
	uint64_t until;		/* ns: time of the latest reading; 0 = nothing was read */
};

/*
 * CPU time used by those cgroups of the target that had samples, from the first reading of each
 * (not before its first sample) to the last: never more than they really used. Not known for a
 * target cgroup that lies inside a container, or that has no limit and only holds containers.
 */
struct facts_used cgroup_facts_used(const struct cgroup_facts *cf);
/* Cgroup @id was created in this segment, so all its CPU time counts. */
void cgroup_facts_born(struct cgroup_facts *cf, uint64_t id);
/*
 * Process @pid executes a program. It may be the first process of a container that has just begun.
 */
void cgroup_facts_exec(struct cgroup_facts *cf, uint32_t pid);
/* A process in cgroup @path ended. It may have been the last one, so read the counters soon. */
void cgroup_facts_exit(struct cgroup_facts *cf, const char *path);

/* Call after each drain. Reads what is due soon, for a few ms at most. */
void cgroup_facts_round(struct cgroup_facts *cf);
/*
 * Call from time to time, and not before a drain has followed the call before. Reads some of the
 * cgroups that were not read for longest, for about 2 ms at most. Writes those that are gone for the last time, and forgets
 * them.
 */
void cgroup_facts_watch(struct cgroup_facts *cf);
/*
 * The segment ends. Reads the counters once more if time allows, and writes them. @last: no samples
 * follow; otherwise samples are waiting.
 */
void cgroup_facts_cut(struct cgroup_facts *cf, bool last);

/* The lookup of containers; it also serves for the target's. Borrowed. */
struct container_lookup *cgroup_facts_lookup(const struct cgroup_facts *cf);
/* For reading counters of cgroups. Borrowed. */
const struct cgroup_cpu *cgroup_facts_cpu(const struct cgroup_facts *cf);

#endif
