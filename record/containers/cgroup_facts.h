/*
 * Writes down whose samples these are: for each cgroup that samples come from, the container it belongs to (or
 * itself), who that is, its CPU limit and counters (ev_container). Only what is sampled is looked at, some of it at a
 * time: with the first sample of a segment, when a process of it ends, now and then, and at the segment's end. A
 * cgroup that is removed has its last counters from the last of these.
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
 * All borrowed. @fs is open. @chosen: the target's cgroups, none unless it is cgroups; more may come. @cs may be NULL: containers are then looked for with the first cgroup that is not
 * the root, in @roots too (containers_new()). Own with cgroup_facts_free(), which accepts NULL.
 */
struct cgroup_facts *cgroup_facts_new(const struct cgroup_fs *fs, const struct cgroup_list *chosen, struct containers *cs,
				      const char *roots, struct rec_writer *w);
void cgroup_facts_free(struct cgroup_facts *cf);

/*
 * The first sample in a segment from cgroup @id (0 = not known), @path below the hierarchy, "" when that could not be learnt, by process
 * @pid (0, UINT32_MAX: not known). Before it is written.
 */
void cgroup_facts_met(struct cgroup_facts *cf, uint64_t id, const char *path, uint32_t pid);
/* Had chosen cgroup @path of the target, or one in it, a sample in the recording? */
bool cgroup_facts_had_samples(const struct cgroup_facts *cf, const char *path);
struct facts_used {
	uint64_t us;		/* CPU time */
	uint64_t until;		/* ns: when the latest of it was read; 0 = none was */
};

/*
 * What the chosen cgroups of the target that had samples used, of each from the first look at it, which is not before its first
 * sample, to the last one: no more than they did use. Of one that is chosen in a container, or by a folder of
 * containers, nothing is known.
 */
struct facts_used cgroup_facts_used(const struct cgroup_facts *cf);
/* Cgroup @id was made: what it used is of this segment. */
void cgroup_facts_born(struct cgroup_facts *cf, uint64_t id);
/* Process @pid executes another program: it may be the first one of a container that began a moment ago. */
void cgroup_facts_exec(struct cgroup_facts *cf, uint32_t pid);
/* A process in cgroup @path ended. It may have been the last one: have a look soon. */
void cgroup_facts_exit(struct cgroup_facts *cf, const char *path);

/* After each drain: what is to be looked at soon, for some ms at most. */
void cgroup_facts_round(struct cgroup_facts *cf);
/* Now and then: some of those not looked at for the longest time. */
void cgroup_facts_watch(struct cgroup_facts *cf);
/*
 * The segment ends, while samples wait or (@last) after the last one: writes the latest counters, which are read once
 * more, as far as there is time.
 */
void cgroup_facts_cut(struct cgroup_facts *cf, bool last);

/* Who looks containers up, those of the target (cgroup_facts_new()) as well. Borrowed. */
struct container_lookup *cgroup_facts_lookup(const struct cgroup_facts *cf);
/* To read the counters of cgroups with, borrowed. */
const struct cgroup_cpu *cgroup_facts_cpu(const struct cgroup_facts *cf);

#endif
