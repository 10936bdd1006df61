/*
 * The containers of this host, found in cgroupfs, /proc and the state files of the runtimes. No
 * daemon or client program is asked. The result is a snapshot; containers_refresh() takes a new
 * one.
 */
#ifndef NSPROF_CONTAINERS_H
#define NSPROF_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "containers/cgroup.h"

/* Strings are owned and "" when unknown. */
struct container {
	/* "docker", "podman", "containerd", "cri-o", "runc", "crun", "lxc", "nspawn" */
	char *runtime;
	char *id;		/* as the runtime writes it: mostly 64 hexadecimal digits */
	char *name;	/* what people call it; in Kubernetes the container's name within its pod */
	char *image;
	char *pod, *pod_ns, *pod_uid;	/* Kubernetes */
	bool stated;		/* a state file describes it */
	bool told;		/* a state file that would contain its name was read */
	bool unnamed;		/* it has a name that was not found: @name is the id */
	bool sandbox;	/* the pod's own container, which only holds its namespaces ("pause") */
	uint32_t pid;		/* its first process; 0 = unknown or not running */
	/*
	 * its first process, if the runtime created no cgroup for it; 0 = it has a cgroup, or does
	 * not run
	 */
	uint32_t outside;
	uint32_t outside_uid;	/* uid of the owner of the state file with @outside */
	/*
	 * Whose word its cgroup and name are: ROOT's, also of a runtime of root's; a user's; or a
	 * container's that it lies in (CONTAINER_TENANT).
	 */
	uint32_t voucher;
	/* for the modules that fill the table (containers_priv.h) */
	uint64_t key;
	uint32_t stated_by;	/* uid of the user whose state file describes it, 0 = root or none */
	uint8_t claim;		/* enum container_claim: why @cgroup is its own */
	bool given;		/* a state file of root's describes it */
	bool inner;		/* it lies in another container, which may have made it up */
	bool qualified;		/* @name begins with that of the other container */
	/* its own cgroup, below the perf_event hierarchy; "" = not running, or it has none */
	char *cgroup;
	/*
	 * Tells it from running containers with the same name and pod: ":" and its runtime, or ":"
	 * and the beginning of its id if the runtime is the same, too. "" = there were none when it
	 * was found.
	 */
	char *apart;
	/*
	 * "a+b": all containers in this cgroup, if a runtime put several there; "" = only this one
	 */
	char *together;
};

#define CONTAINER_TENANT UINT32_MAX

struct containers;

/*
 * @fs is borrowed and open. @roots: further state directories to read, separated by ':'; NULL =
 * none. Never fails: what cannot be read is skipped.
 */
struct containers *containers_new(const struct cgroup_fs *fs, const char *roots);
/* For use while rings fill: less usual places are searched for at most 50 ms. */
struct containers *containers_new_hurried(const struct cgroup_fs *fs, const char *roots);
/* The same from now on for an existing one. */
void containers_hurry(struct containers *cs);
void containers_free(struct containers *cs);
/*
 * A copy of what @cs knows, for use while @cs is refreshed. Only containers_known() works on it.
 * Release with containers_free().
 */
struct containers *containers_copy(const struct containers *cs);

/*
 * Appends which containers have no name and why: where nsprof looked, and how that went. Appends
 * nothing if all have a name. Containers that were looked up after the snapshot are included.
 */
void containers_why(const struct containers *cs, struct strbuf *sb);
/* Appends which directories of root's cannot be read; nothing if there are none. */
void containers_unreadable(const struct containers *cs, struct strbuf *sb);
/* Appends of which users' state too much was found to read it all; nothing if of none. */
void containers_over_budget(const struct containers *cs, struct strbuf *sb);
/* Warns about containers without a name and says what to do. Once for each @cs. */
void containers_warn(struct containers *cs);

/*
 * Warns about cgroups that have the id of a container and are not it, which were found since the
 * last call. Names a few of them in all.
 */
void containers_warn_claims(struct containers *cs);
/*
 * May @c, which has this name (is in this pod, has an id that begins with @prefix), be meant by it?
 * False if only a user or another container says so, and the host has or had such a container.
 */
bool containers_is_hosts(const struct containers *cs, const struct container *c);
bool containers_is_hosts_pod(const struct containers *cs, const struct container *c);
bool containers_is_hosts_id(const struct containers *cs, const struct container *c, const char *prefix);

/* Takes a new snapshot. Pointers into the old one become invalid. */
void containers_refresh(struct containers *cs);

/* The running containers, sorted by the paths of their cgroups. */
const struct container *containers_all(const struct containers *cs, size_t *n);

/* Is a process in it? Some containers of containers_all() may have left their cgroup behind. */
bool containers_populated(const struct containers *cs, const struct container *c);
/*
 * No process is in its cgroup, not even one of another pid namespace, and no runtime names one.
 * False if the kernel does not tell.
 */
bool containers_left(const struct containers *cs, const struct container *c);

/*
 * Running containers without their own cgroup. They run in the cgroup of whatever started them, so
 * nothing tells which container a process there belongs to.
 */
const struct container *containers_outside(const struct containers *cs, size_t *n);

/*
 * The container with own cgroup @path, or the innermost container that @path lies in; NULL if there
 * is none. @path is relative to the root of the hierarchy. A cgroup newer than the snapshot is
 * looked up, so this may be called for a cgroup just seen. That invalidates pointers from earlier
 * calls.
 */
const struct container *containers_of(struct containers *cs, const char *path);

/* The same without a lookup. NULL also if a lookup would be needed. */
const struct container *containers_known(const struct containers *cs, const char *path);

/*
 * The same for a cgroup created after the snapshot, even if its path shows no id: reads the
 * runtimes' state for containers that are not known yet. A runtime may write that state after it
 * creates the cgroup. containers_begun() reads once more, for all such cgroups; then look them up
 * with containers_of().
 */
const struct container *containers_of_new(struct containers *cs, const char *path);
void containers_begun(struct containers *cs);
/* The cgroup @path existed when the latest snapshot was taken. */
bool containers_walked(const struct containers *cs, const char *path);

#endif
