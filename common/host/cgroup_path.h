/* What a cgroup's path alone tells about a container: runtimes put its id there. Pure functions. */
#ifndef NSPROF_CGROUP_PATH_H
#define NSPROF_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define POD_UID_LEN 40	/* a UUID has 36 characters, a static pod's uid 32 */

struct cgroup_path {
	/* "docker", "podman", "containerd" ...; "" if the path does not tell */
	const char *runtime;
	/* within the path; id_len bytes: the id, or the name if there is no id */
	const char *id;
	size_t id_len;
	/* id is a name (lxc, nspawn); the name of a unit is escaped by systemd */
	bool named;
	size_t own_len;		/* bytes of the path up to the end of the container's own cgroup */
	size_t outer_len;	/* the same for the container that it lies in; 0 = none */
	char pod_uid[POD_UID_LEN + 1];	/* of a Kubernetes pod, '-' restored; "" = none */
	size_t pod_len;		/* bytes of the path up to the end of the pod's cgroup; 0 = none */
};

/*
 * Finds the innermost container in @path, which is relative to its hierarchy. False if there is
 * none.
 *
 * Not containers, although they carry an id: cgroups that only serve a container (conmon, lxc's
 * monitor, podman's health checks and other systemd units that are neither scopes nor slices),
 * pods, and the cgroup without a process that CRI-O keeps for a pod.
 *
 * Sources of the shapes: the cgroup managers (cgroupfs and systemd) of docker, podman and CRI-O,
 * podman's --cgroups=split, the kubelet's cm/cgroup_manager_linux.go, lxc.cgroup.pattern in
 * lxc.container.conf(5), the machine scopes of systemd-machined(8).
 */
bool cgroup_path_parse(const char *path, struct cgroup_path *out);

/*
 * Bytes of @path up to the end of the outermost container with this id, or with any id if @id is
 * NULL. Containers that end within the first @from bytes are skipped. 0 = none.
 */
size_t cgroup_path_outermost(const char *path, const char *id, size_t from);

/*
 * Where the innermost container id begins in @path: 64 hexadecimal digits, whatever surrounds them.
 * Names that cgroup_path_parse() does not accept as containers are skipped. NULL if there is none.
 */
const char *cgroup_path_id(const char *path);
/* The same for the outermost one: of the container in which the other one claims to be one. */
const char *cgroup_path_outer_id(const char *path);

/* True if @path is in cgroup @ancestor or equal to it. Both are relative to the same hierarchy. */
bool cgroup_path_within(const char *path, const char *ancestor);

/*
 * Undoes systemd's escapes ("\x2d"), systemd.unit(5). @out has @size bytes; longer text is
 * truncated.
 */
void cgroup_path_unescape(const char *in, size_t len, char *out, size_t size);

#endif
