/* What containers.c (the snapshot) and containers_states.c (where the state is) share: the table below both, containers_table.c. */
#ifndef NSPROF_CONTAINERS_PRIV_H
#define NSPROF_CONTAINERS_PRIV_H

#include "base/hash.h"
#include "containers/containers.h"
#include "containers/runtimes.h"
#include "containers/state_dirs.h"
#include "host/cgroup_path.h"

#define ROOT_UID 0

struct containers {
	const struct cgroup_fs *fs;
	const char *roots;		/* borrowed; may be NULL */
	struct container *all;		/* owned; by path between two refreshes, what was met then behind */
	size_t n, cap, sorted;
	struct container *outside;	/* owned: those of the latest snapshot without a cgroup */
	size_t noutside, outside_cap;
	struct u64map by_id, by_path;	/* hash -> index + 1 */
	struct u64map by_pid;		/* the same, while all is looked at */
	struct u64map placed;		/* hash of the id -> index + 1 of one with a cgroup */
	struct u64map walked;		/* set of the hashes of all cgroups' paths, at the latest snapshot */
	struct u64map dead;		/* set of runtime_entry.file: its process was gone, and the file says when that began */
	uint32_t trust;			/* uid whose files are being read */
	struct state_dirs dirs;		/* where to look */
	struct state_dirs homes;	/* those of users that may not be read */
	uint64_t walk_next;		/* ns; runtimes' processes are not looked for before that */
	bool hurried;
	bool warned;
	const char *begun;		/* a cgroup that was made since the snapshot; NULL = none in particular */
};

/* ---- containers_table.c ---- */

uint64_t containers_hash(const char *s, size_t len);
/* Owned string @to becomes @text if it is still "": the first who says it is right. */
void container_learn(char **to, const char *text);
/* There is a container's cgroup at @path, as it parses. */
void containers_note_path(struct containers *cs, const char *path, const struct cgroup_path *p);
/* cgroup_path_parse(), and nspawn's kept units. */
bool containers_parse(const struct containers *cs, const char *path, struct cgroup_path *p);
/* For runtimes_scan(): takes what an entry says, as far as cs->trust may say it. @ctx: the containers. */
void containers_note(void *ctx, const struct runtime_entry *e);
/* For runtimes_scan_new(): one of this id runs, or the file has not changed since its process was gone. */
bool containers_settled(void *ctx, const char *id, uint64_t file);
/* In a part of the hierarchy that systemd gave to this user. */
bool containers_is_users(const char *cgroup, uint32_t uid);

/* ---- containers_states.c ---- */

/*
 * Looks for what runtimes say of containers; @only: of the one of this id, which came after the snapshot. Of those from @from on
 * that have no name then, in further places.
 */
void containers_look(struct containers *cs, size_t from, const char *only);
/* What runtimes of the system say of those that are not known to run, whatever their cgroups are called. */
void containers_look_new(struct containers *cs);
/* docker's, podman's, CRI-O's and a pod's always have a name; others if somebody says so. Before finish(). */
bool containers_unnamed(const struct container *c);

#endif
