/*
 * The cgroups that samples come from: their names into the recording, and whose samples are wanted where the kernel was asked for
 * those of all.
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
	struct rec_writer *w;		/* an error of it is met again by whatever is written next */
	struct cgroup_facts *facts;	/* NULL = none are taken */
	const struct cgroup_list *filter;	/* samples outside of these are left out; NULL = all are wanted */
	bool root_unsure;		/* samples may name the root for any cgroup (cgroup_perf.h) */
	void (*on_made)(void *ctx, const char *path);	/* NULL = nobody wants to know */
	void *on_made_ctx;
	uint32_t segment;
	struct u64map known;		/* id to owned struct known_cgroup * */
};

/* Own with sink_cgroups_fini(). */
void sink_cgroups_init(struct sink_cgroups *sc, const struct cgroup_fs *fs, const struct proctab *pt, struct rec_writer *w);
void sink_cgroups_fini(struct sink_cgroups *sc);

/* A cgroup known beforehand. */
void sink_cgroups_add(struct sink_cgroups *sc, uint64_t id, const char *path);
/* One was made (PERF_RECORD_CGROUP, for which the kernel needs FEAT_CGROUP). */
void sink_cgroups_made(struct sink_cgroups *sc, uint64_t id, const char *path);
/*
 * @fn is called with the path of each cgroup that is made from now on, in the midst of a drain: it may look, remember, and
 * nothing else.
 */
void sink_cgroups_on_made(struct sink_cgroups *sc, void (*fn)(void *ctx, const char *path), void *ctx);
/* There are more in @sc->filter: what was left out may be wanted from now on. */
void sink_cgroups_filter_again(struct sink_cgroups *sc);

/*
 * The cgroup of a sample of process @pid that says 0, an id that the kernel has lost, or the root's (@id) only because perf_event does
 * not reach further. 0: not known.
 */
uint64_t sink_cgroups_guess(const struct sink_cgroups *sc, uint64_t id, uint32_t pid);
/*
 * Is a sample of process @pid in cgroup @id wanted? Names of cgroups that are older than the recording are looked up
 * when a sample needs them.
 */
bool sink_cgroups_wanted(struct sink_cgroups *sc, uint64_t id, uint32_t pid);

/* A new segment begins: names have to be written again, and those that had no sample in the one that ended are forgotten. */
void sink_cgroups_cut(struct sink_cgroups *sc);

#endif
