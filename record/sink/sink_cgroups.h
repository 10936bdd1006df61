/*
 * The cgroups that samples come from: writes their names to the recording. If the kernel samples
 * all cgroups, decides which samples are wanted.
 */
#ifndef NSPROF_SINK_CGROUPS_H
#define NSPROF_SINK_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "containers/cgroup.h"
#include "containers/cgroup_facts.h"
#include "procs/proctab.h"
#include "recording/rec_writer.h"

struct sink_cgroups {
	const struct cgroup_fs *fs;	/* borrowed, as all pointers here; open */
	const struct proctab *pt;
	struct rec_writer *w;		/* a later write meets the same error */
	struct cgroup_facts *facts;	/* NULL = none are taken */
	const struct cgroup_list *filter;	/* samples outside of these are left out; NULL = all are wanted */
	bool root_unsure;		/* samples may name the root for any cgroup (cgroup_perf.h) */
	void (*on_made)(void *ctx, const char *path);	/* NULL = nobody listens */
	void *on_made_ctx;
	uint32_t segment;
	struct u64map known;		/* id to owned struct known_cgroup * */
	uint64_t made[4096];		/* ids of the latest that were created */
	size_t nmade;			/* all of them */
	uint32_t watches;		/* calls of sink_cgroups_watch() */
	size_t watched;			/* where sink_cgroups_watch() goes on in @known */
};

/* Release with sink_cgroups_fini(). */
void sink_cgroups_init(struct sink_cgroups *sc, const struct cgroup_fs *fs, const struct proctab *pt, struct rec_writer *w);
void sink_cgroups_fini(struct sink_cgroups *sc);

/* Adds a cgroup that is known beforehand. */
void sink_cgroups_add(struct sink_cgroups *sc, uint64_t id, const char *path);
/* A cgroup was created (PERF_RECORD_CGROUP, for which the kernel needs FEAT_CGROUP). */
void sink_cgroups_made(struct sink_cgroups *sc, uint64_t id, const char *path);
/*
 * Calls @fn with the path of each cgroup that is created from now on. This happens in the middle of
 * a drain: @fn may look and remember, and nothing else.
 */
void sink_cgroups_on_made(struct sink_cgroups *sc, void (*fn)(void *ctx, const char *path), void *ctx);
/* @sc->filter has more cgroups: what was left out may be wanted from now on. */
void sink_cgroups_filter_again(struct sink_cgroups *sc);

/*
 * The cgroup of a sample of process @pid if its @id is 0, because the kernel has lost it, or is the
 * root's only because perf_event does not reach further. 0: unknown.
 */
uint64_t sink_cgroups_guess(const struct sink_cgroups *sc, uint64_t id, uint32_t pid);
/*
 * Is a sample of process @pid in cgroup @id wanted? Names of cgroups that are older than the
 * recording are looked up when a sample needs them.
 */
bool sink_cgroups_wanted(struct sink_cgroups *sc, uint64_t id, uint32_t pid);

/*
 * Call from time to time, and not before a drain has followed the call before. Forgets cgroups that
 * were removed and of which no sample can come any more.
 */
void sink_cgroups_watch(struct sink_cgroups *sc);

/*
 * A new segment begins: names have to be written again. Forgets those that had no sample in the
 * ended one.
 */
void sink_cgroups_cut(struct sink_cgroups *sc);

#endif
