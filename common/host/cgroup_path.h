/* What a cgroup's path alone says of a container: runtimes put its id there. Pure. */
#ifndef NSPROF_CGROUP_PATH_H
#define NSPROF_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define POD_UID_LEN 40	/* a UUID has 36 characters, a static pod's uid 32 */

struct cgroup_path {
	const char *runtime;	/* "docker", "podman", "containerd" ...; "" when the path does not say */
	const char *id;		/* within the path; id_len bytes: the id, or the name where that is all there is */
	size_t id_len;
	bool named;		/* id is a name (lxc, nspawn), and escaped as systemd does if it is a unit's */
	size_t own_len;		/* bytes of the path that are the container's own cgroup */
	char pod_uid[POD_UID_LEN + 1];	/* of a Kubernetes pod, '-' restored; "" = none */
	size_t pod_len;		/* bytes of the path that are the pod's cgroup; 0 = none */
};

/*
 * The innermost container that @path (below its hierarchy) lies in. False when it shows none. None is what only serves one,
 * though it has its id (conmon, lxc's monitor, podman's health checks and other units of systemd that are neither scopes nor
 * slices), nor that of a pod, nor the one without a process that CRI-O keeps for a pod. Shapes: docker, podman and CRI-O by
 * their sources' cgroup managers (cgroupfs and systemd), podman's --cgroups=split, the kubelet's
 * cm/cgroup_manager_linux.go, lxc.cgroup.pattern of lxc.container.conf(5), machine scopes of systemd-machined(8).
 */
bool cgroup_path_parse(const char *path, struct cgroup_path *out);

/*
 * Where the innermost id of a container begins in @path: 64 hexadecimal digits, whatever is around them, but not in the name
 * of what cgroup_path_parse() takes for none. NULL when there is none.
 */
const char *cgroup_path_id(const char *path);

/* @path lies in cgroup @ancestor or is it. Both are paths below the same hierarchy. */
bool cgroup_path_within(const char *path, const char *ancestor);

/* Undoes systemd's escapes ("\x2d"), systemd.unit(5). @out has @size bytes; cut when too long. */
void cgroup_path_unescape(const char *in, size_t len, char *out, size_t size);

#endif
