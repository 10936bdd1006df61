/*
 * What containers.c (the snapshot) and containers_states.c (where the state is) share: the table of
 * containers_table.c.
 */
#ifndef NSPROF_CONTAINERS_PRIV_H
#define NSPROF_CONTAINERS_PRIV_H

#include "base/hash.h"
#include "containers/containers.h"
#include "containers/runtimes.h"
#include "containers/state_budget.h"
#include "containers/state_dirs.h"
#include "host/cgroup_path.h"

#define ROOT_UID 0

struct containers {
	const struct cgroup_fs *fs;
	const char *roots;		/* borrowed; may be NULL */
	/* owned; the first @sorted by path, then those found since the snapshot */
	struct container *all;
	size_t n, cap, sorted;
	/* owned: containers of the latest snapshot without a cgroup */
	struct container *outside;
	size_t noutside, outside_cap;
	struct u64map by_id, by_path;	/* hash -> index + 1 */
	struct u64map by_pid;		/* the same, only during a snapshot */
	struct u64map placed;		/* hash of the id -> index + 1, for those with a cgroup */
	struct u64map walked;	/* set of the hashes of all cgroups' paths at the latest snapshot */
	struct u64map dead;	/* set of runtime_entry.file with an ended process (start time) */
	uint32_t trust;			/* owner of the state being read */
	struct state_dirs dirs;		/* directories to read */
	struct state_dirs homes;	/* users' directories that could not be read */
	struct state_budgets budgets;	/* what was read of users' state in this pass */
	uint64_t walk_next;	/* ns; do not scan processes for runtimes before this time */
	bool hurried;
	bool warned;
	const char *begun;	/* a cgroup created since the snapshot; NULL = none in particular */
};

/* ---- containers_table.c ---- */

uint64_t containers_hash(const char *s, size_t len);
/* Sets the owned string @to to @text if it is still "": the first source wins. */
void container_learn(char **to, const char *text);
/* Notes the container of cgroup @path. @p: the parsed path. */
void containers_note_path(struct containers *cs, const char *path, const struct cgroup_path *p);
/* cgroup_path_parse(), plus units kept by nspawn. */
bool containers_parse(const struct containers *cs, const char *path, struct cgroup_path *p);
/*
 * For runtimes_scan(): takes over what @e says, as far as cs->trust is entitled to say it. @ctx:
 * the containers.
 */
void containers_note(void *ctx, const struct runtime_entry *e);
/*
 * For runtimes_scan_new(): a container with this id runs, or the file is unchanged since its
 * process was gone.
 */
bool containers_settled(void *ctx, const char *id, uint64_t file);
/* Is it in the part of the hierarchy that systemd gave to this user? */
bool containers_is_users(const char *cgroup, uint32_t uid);

/* ---- containers_states.c ---- */

/*
 * Reads what runtimes say about containers. @only: just the container with this id, which came
 * after the snapshot. For containers from @from on that then have no name, further places are
 * searched.
 */
void containers_look(struct containers *cs, size_t from, const char *only);
/*
 * Reads the system's runtimes for containers not known to run, whatever their cgroups are called.
 */
void containers_look_new(struct containers *cs);
/*
 * It has a name that was not found. Containers of docker, podman and CRI-O and those in pods always
 * have a name, others only if a state file says so. Valid before finish().
 */
bool containers_unnamed(const struct container *c);

#endif
