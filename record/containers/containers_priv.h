/*
 * What containers.c (the snapshot) and containers_states.c (where the state is) share: the table of
 * containers_table.c.
 */
#ifndef NSPROF_CONTAINERS_PRIV_H
#define NSPROF_CONTAINERS_PRIV_H

#include <inttypes.h>

#include "base/hash.h"
#include "containers/containers.h"
#include "containers/runtimes.h"
#include "containers/state_budget.h"
#include "containers/state_dirs.h"
#include "host/cgroup_path.h"

#define ROOT_UID 0

/* Why a cgroup is a container's own; the strongest reason wins. */
enum container_claim {
	CLAIM_NONE,
	CLAIM_TENANT,	/* its path, but a container or a user could have made it */
	CLAIM_USER,	/* the same, and the process that this user's state file names is in it */
	CLAIM_PATH,	/* its path, and only root could have made it */
	CLAIM_PID,	/* the same, and a state file of root's names a process in it */
	CLAIM_PROVEN,	/* and that process has the start time in the file */
};

/* Another cgroup that claims to be a container. */
struct claim {
	char *path;	/* owned */
	size_t of;	/* index of the container */
	enum container_claim claim;
};

struct containers {
	const struct cgroup_fs *fs;
	const char *roots;		/* borrowed; may be NULL */
	/* owned; the first @sorted by path, then those found since the snapshot */
	struct container *all;
	size_t n, cap, sorted;
	size_t finished;		/* the first ones that have been reported */
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

	/* ---- containers_claims.c ---- */
	char *host;		/* owned; the container's cgroup that process 1 is in, NULL = none */
	bool given;		/* the directory being read belongs to root */
	struct claim *claims;	/* owned; cgroups that claim to be a container that has another */
	size_t nclaims, claims_cap;
	struct u64map refused;	/* set of the hashes of paths that are no containers of their own */
	struct u64map reserved;	/* set of the hashes of names and pods of root's containers */
	char **asleep;		/* owned; ids of those that do not run */
	size_t nasleep, asleep_cap;
	struct u64map told;	/* set of contradictions already reported */
	char **said;		/* owned; messages about new ones */
	size_t nsaid, unsaid, said_cap;	/* nsaid: of all, in messages or not */
};

/* ---- containers_makers.c ---- */

uint64_t containers_hash(const char *s, size_t len);
/* Finds out what the host is: what process 1 sees, which may be a container itself. */
void containers_host(struct containers *cs);
bool containers_is_root(const struct containers *cs, uint32_t uid);
/* cgroup_path_outermost(), without containers that the host itself is in. */
size_t containers_outermost(const struct containers *cs, const char *path, const char *id);
/* Is the container of parsed path @p in another container, which the host is not in? */
bool containers_is_inner(const struct containers *cs, const char *path, const struct cgroup_path *p);
/*
 * Who could create the cgroup with the first @len bytes of @path: the first owner of a directory
 * above it other than root, CONTAINER_TENANT if all may create cgroups in one of them.
 */
uint32_t containers_maker(const struct containers *cs, const char *path, size_t len);
/*
 * Is it a user's: in the part of the hierarchy that systemd gave to this user, or in a directory
 * that belongs to the user?
 */
bool containers_is_users(const struct containers *cs, const char *cgroup, uint32_t uid);
enum container_claim containers_claim_of_path(const struct containers *cs, const char *path, const struct cgroup_path *p);
/* Bytes of @path that make the id in it unique: those of the container that gave it, or 0. */
size_t containers_outer(const struct containers *cs, const char *path, const struct cgroup_path *p);

#define CONTAINER_MEMBERS_MAX 16	/* processes examined per container */

struct container_members {
	uint32_t pids[CONTAINER_MEMBERS_MAX];
	size_t n;
};

/* The first processes in @cgroup and below it, as our /proc numbers them. */
void containers_members(const struct containers *cs, const char *cgroup, struct container_members *m);
/* Is any process in @cgroup or below it? */
bool containers_path_populated(const struct containers *cs, const char *cgroup);

/* ---- containers_table.c ---- */

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
/* Adds one without any facts. The first one with its id from now on. */
struct container *containers_add(struct containers *cs, const char *id, uint64_t key);
/* Adds another one with the id of @c, which stays as it is. */
struct container *containers_again(struct containers *cs, const struct container *c);
/*
 * The first @len bytes of @path claim to be the cgroup of @c. Returns the container that has that
 * cgroup now or, if @c has a better one, @c. Invalidates other pointers.
 */
struct container *containers_place(struct containers *cs, struct container *c, const char *path, size_t len,
				   enum container_claim claim);
/* @c has the cgroup with the first @len bytes of @path from now on. */
void containers_set_cgroup(struct containers *cs, struct container *c, const char *path, size_t len, enum container_claim claim);
/* The innermost known container at or above @path. */
const struct container *containers_above(const struct containers *cs, const char *path);
/* Takes over the runtime that manages it, rather than the one that starts it. */
void containers_learn_runtime(struct container *c, const char *runtime);

/* ---- containers_claims.c ---- */

/*
 * After the state files were read: decides about the claims, also of those from @from on, and notes
 * what the paths say.
 */
void containers_settle(struct containers *cs, size_t from);
/* The path (@len bytes) shows a container's id and was found not to be that container. */
bool containers_refused(const struct containers *cs, const char *path, size_t len);
void containers_unrefuse(struct containers *cs, const char *path, size_t len);
/* Notes the names of @c if it is one of root's, running or not. */
void containers_reserve(struct containers *cs, const struct container *c);
/* Puts the name of the container that it lies in before its own. */
void containers_qualify(struct containers *cs, struct container *c);
void containers_forget_claims(struct containers *cs);
void containers_free_claims(struct containers *cs);

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
