/*
 * The containers of this host, from cgroupfs, /proc and the state files of the runtimes. No socket and no client
 * program is asked. What is found is a snapshot; containers_refresh() takes a new one.
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
	char *runtime;		/* "docker", "podman", "containerd", "cri-o", "runc", "crun", "lxc", "nspawn" */
	char *id;		/* as the runtime has it: mostly 64 hexadecimal digits */
	char *name;		/* as people call it; in Kubernetes that of the container in its pod */
	char *image;
	char *pod, *pod_ns, *pod_uid;	/* Kubernetes */
	bool stated;		/* a state file tells of it */
	bool told;		/* one that has the name, if it has one */
	bool unnamed;		/* it has a name that nobody tells: @name is the id */
	bool sandbox;		/* the pod's own container, which only holds its namespaces ("pause") */
	uint32_t pid;		/* its first process; 0 = unknown or not running */
	uint32_t outside;	/* its first process, where the runtime has made no cgroup for it; 0 = it has one, or does not run */
	uint32_t outside_uid;	/* who says so */
	char *cgroup;		/* its own, below the perf_event hierarchy; "" = not running, or it has none */
	/*
	 * Where others of its name and pod run at the same time: ":" and its runtime, or the beginning of its id if the runtime is theirs, too.
	 * "" = none did when it was met.
	 */
	char *apart;
	char *together;		/* "a+b", all whose own cgroup that is, since a runtime put them there; "" = it alone */
};

struct containers;

/*
 * @fs is borrowed and open. @roots: state directories to look at besides the known ones, separated by ':'; NULL =
 * none. Never fails: what cannot be read is not there.
 */
struct containers *containers_new(const struct cgroup_fs *fs, const char *roots);
/* The same while rings wait to be drained, from now on (containers_hurry()): further places are looked into for 50 ms at most. */
struct containers *containers_new_hurried(const struct cgroup_fs *fs, const char *roots);
void containers_hurry(struct containers *cs);
void containers_free(struct containers *cs);
/* What @cs knows, for containers_known() alone, which works while @cs is refreshed. Own with containers_free(). */
struct containers *containers_copy(const struct containers *cs);

/*
 * Appends which containers have no name and why: where was looked for it, and how that went. Nothing when all have one.
 * One that is looked up later counts, too.
 */
void containers_why(const struct containers *cs, struct strbuf *sb);
/* Appends which directories may not be read, whoever's they are; nothing when there is none. */
void containers_unreadable(const struct containers *cs, struct strbuf *sb);
/* A warning about containers without a name, with the remedy; once for @cs. */
void containers_warn(struct containers *cs);

/* Look at everything again. Pointers into the former snapshot are gone. */
void containers_refresh(struct containers *cs);

/* Those that run, in the order of their cgroups' paths. */
const struct container *containers_all(const struct containers *cs, size_t *n);

/* A process is in it. Of those above some may have left their cgroup behind. */
bool containers_populated(const struct containers *cs, const struct container *c);
/* No process is in its cgroup, not even one of another pid namespace, and no runtime tells of one; false where the kernel does not say. */
bool containers_left(const struct containers *cs, const struct container *c);

/* Those that run without a cgroup of their own: in the one of who started them, so that nothing tells whose a process there is. */
const struct container *containers_outside(const struct containers *cs, size_t *n);

/*
 * The container whose own cgroup @path is, or the innermost one that @path lies in; NULL when there is none. Below
 * the hierarchy of @fs. What was not in the snapshot is looked for, so it may be called for a cgroup just met; pointers from
 * earlier calls are gone then.
 */
const struct container *containers_of(struct containers *cs, const char *path);

/* The same without looking for anything: NULL also when that would be needed. */
const struct container *containers_known(const struct containers *cs, const char *path);

/*
 * The same for a cgroup made after the snapshot, whose path need not show an id: the runtimes are asked for containers
 * that are not known yet. A runtime may write them down later than it makes the cgroup: containers_begun() asks once more for all
 * such cgroups, to be looked up with containers_of() afterwards.
 */
const struct container *containers_of_new(struct containers *cs, const char *path);
void containers_begun(struct containers *cs);
/* There was a cgroup at @path when the latest snapshot was taken. */
bool containers_walked(const struct containers *cs, const char *path);

#endif
