/* Reads the state directories of container runtimes. */
#ifndef NSPROF_RUNTIMES_H
#define NSPROF_RUNTIMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One container as one file describes it. Strings are borrowed for the call, and "" if the file
 * lacks them.
 */
struct runtime_entry {
	const char *runtime;
	const char *id, *name, *image;
	const char *pod, *pod_ns, *pod_uid;
	bool sandbox;		/* a pod's pause container */
	uint32_t pid;		/* its first process; 0 = not in the file */
	/* of that process, field 22 of /proc/PID/stat; 0 = not in the file */
	uint64_t start_ticks;
	/*
	 * "/docker/<id>", "system.slice:docker:<id>" (systemd's driver), or a directory in a cgroup
	 * mount.
	 */
	const char *cgroup;
	/* the folder of its OCI configuration, inside the state of the program that manages it */
	const char *bundle;
	/* identifies the file's version, as for runtimes_scan_new(); 0 = it may change unnoticed */
	uint64_t file;
};

/*
 * Calls @fn for each container that a file below @dirfd describes, in any of these layouts:
 *
 *	containers/ID/config.v2.json			docker's data root
 *	UID.GID/containers/ID/config.v2.json		the same with --userns-remap
 *	DRIVER-containers/containers.json		containers-storage(5): podman, CRI-O
 *	DRIVER-containers/volatile-containers.json	the same: podman run --rm
 *	DRIVER-containers/ID/userdata/config.json	the same and its run root, OCI annotations
 *	ID/state.json, ID/status			runc, crun
 *	io.containerd.runtime.v2.task/NS/ID/config.json	containerd's state directory
 *	runc/NS/ID/state.json, .../status		the same, if runc or crun keep it there
 *
 * @only: just the container with this id, NULL = all. @fn may be called more than once for a
 * container. Nothing in the files is verified here. 0, or the negative errno of something
 * unreadable (EACCES, EPERM, EIO ...): there may be more containers.
 */
int runtimes_scan(int dirfd, const char *only, void (*fn)(void *ctx, const struct runtime_entry *e),
		   void *ctx);

/*
 * The same, but only in the layouts of containers that may have no id in their cgroup path: those
 * of runc, crun and containerd. Files of the others are not opened. Skips containers for which
 * @known returns true. @known gets the id and the version of the file (a hash; 0 = unknown).
 */
int runtimes_scan_new(int dirfd, bool (*known)(void *ctx, const char *id, uint64_t file),
		       void (*fn)(void *ctx, const struct runtime_entry *e), void *ctx);

#endif
