/*
 * The cgroups that the recording says more about than their names: which container each is, its CPU
 * limit and its counters. cgroup_facts decides which cgroups these are and when they are read.
 */
#ifndef NSPROF_CGROUP_UNITS_H
#define NSPROF_CGROUP_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "containers/cgroup.h"
#include "containers/cgroup_cpu.h"
#include "containers/cgroup_facts.h"
#include "containers/containers.h"
#include "recording/rec_writer.h"

/* A cgroup that samples came from in this segment or the one before. */
struct cgroup_unit {
	struct ev_container ev;		/* strings owned */
	struct cgroup_cpu_at at;
	struct cpu_reading r;
	uint64_t read_at;		/* ns; 0 = never */
	/* CPU time at the first reading; 0 if the cgroup was created within the recording */
	uint64_t first_us;
	bool unnamed;			/* the name of its container was not found */
	bool chosen;			/* is a cgroup of the target, not only in one */
	uint32_t segment;		/* in which it was last met */
	/*
	 * Only cgroups in it have samples, and it has had no limit in this segment. Nothing of it is
	 * written, and @r stays the first reading.
	 */
	bool unwritten;
	uint32_t walked;		/* the segment in which those above it were met, too */
	bool soon;			/* in cgroup_facts.soon */
	bool late;			/* its first counters are still to be written */
	/*
	 * its container is unknown (so far): it was created within the recording, or no answer came
	 * in time
	 */
	bool begun;
	bool asked;			/* the pending request includes it */
	uint32_t over;			/* the first cgroup_facts_watch() that met it when it was gone; 0 = none */
	uint8_t gone_answers;		/* answers without its container since it is gone */
	uint64_t credit;	/* ns of CPU time that extra requests for it may still use */
};

struct cgroup_units {
	struct rec_writer *w;		/* borrowed */
	struct cgroup_cpu cpu;
	struct cgroup_unit **v;		/* owned */
	size_t n, cap;
	struct u64map by_path;		/* hash of the path -> index of the latest unit */
	struct u64map born;		/* set of ids created in this segment */
	uint32_t segment;		/* from 1 */
	struct facts_used past;		/* sum of the units that were dropped */
};

/* @fs is open; it and @w are borrowed. Release with cgroup_units_fini(). */
void cgroup_units_init(struct cgroup_units *us, const struct cgroup_fs *fs, struct rec_writer *w);
void cgroup_units_fini(struct cgroup_units *us);

/* The unit of the path that the first @len bytes of @path are, or NULL. Valid until it is dropped. */
struct cgroup_unit *cgroup_units_find(const struct cgroup_units *us, const char *path, size_t len);
/* Adds cgroup @own with id @node (0 = it is gone). @ctr: its container; NULL = it is none. */
struct cgroup_unit *cgroup_units_add(struct cgroup_units *us, const char *own, const struct container *ctr, uint64_t node);
/* @u turns out to be container @ctr. */
void cgroup_unit_name(struct cgroup_unit *u, const struct container *ctr);

/* The first reading of @u in a segment, with its limit. */
void cgroup_units_look_first(struct cgroup_units *us, struct cgroup_unit *u);
/*
 * Later readings. A limit that was set, changed or removed since is noticed. If one was set, writes
 * the first counters of @u that are not written yet. Returns true if @u should be put again.
 */
bool cgroup_units_look(struct cgroup_units *us, struct cgroup_unit *u);
/* Writes @u as it was last read. @from_zero: its counters began within the recording. */
void cgroup_units_put(struct cgroup_units *us, const struct cgroup_unit *u, bool from_zero);

/*
 * Unit @i is gone, and no sample of it is in the rings any more. Writes it for the last time and
 * frees it: what is kept of the past must not grow with the number of cgroups. The last unit
 * becomes @i.
 */
void cgroup_units_drop(struct cgroup_units *us, size_t i);
/*
 * The segment has ended. Frees units that are gone or had no sample in it. They are added again if
 * they return.
 */
void cgroup_units_cut(struct cgroup_units *us);

/* cgroup_facts_used(). */
struct facts_used cgroup_units_used(const struct cgroup_units *us);

#endif
