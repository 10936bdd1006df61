/* What container runtimes write down about their containers: readers of their state directories. */
#ifndef NSPROF_RUNTIMES_H
#define NSPROF_RUNTIMES_H

#include <stdbool.h>
#include <stdint.h>

/* One container as one file has it. Strings are borrowed for the call and "" when the file does not say. */
struct runtime_entry {
	const char *runtime;
	const char *id, *name, *image;
	const char *pod, *pod_ns, *pod_uid;
	bool sandbox;		/* a pod's pause container */
	uint32_t pid;		/* of its first process; 0 = not said */
	uint64_t start_ticks;	/* of that process, field 22 of /proc/PID/stat; 0 = not said */
	/* "/docker/<id>", "system.slice:docker:<id>" (systemd's driver), or a directory in a cgroup mount. */
	const char *cgroup;
	const char *bundle;	/* the folder of its OCI configuration, which lies in the state of whoever manages it */
	uint64_t file;		/* what the file was when it was read, as runtimes_scan_new() asks for it; 0 = may change unseen */
};

/*
 * Calls @fn for each container that the files below @dirfd tell of, whichever of the known layouts they are in:
 *
 *	containers/ID/config.v2.json			docker's data root
 *	UID.GID/containers/ID/config.v2.json		the same with --userns-remap
 *	DRIVER-containers/containers.json		containers-storage(5): podman, CRI-O
 *	DRIVER-containers/volatile-containers.json	the same: podman run --rm
 *	DRIVER-containers/ID/userdata/config.json	the same and its run root, OCI annotations
 *	ID/state.json, ID/status			runc, crun
 *	io.containerd.runtime.v2.task/NS/ID/config.json	containerd's state directory
 *	runc/NS/ID/state.json, .../status		the same, where it has runc or crun keep theirs
 *
 * @only: just the container of this id, NULL = all. One container may come more than once. Nothing that
 * the files say is checked here. 0, or the negative errno of what may not be read (EACCES, EPERM, EIO ...): there may be more.
 */
int runtimes_scan(int dirfd, const char *only, void (*fn)(void *ctx, const struct runtime_entry *e),
		   void *ctx);

/*
 * The same for those that @known, called with an id and with what its file is now (a hash; 0 = not said), does not say yes to, in the layouts whose containers may be in a cgroup
 * that does not show their id: runc's, crun's, containerd's. Files of the others are not opened.
 */
int runtimes_scan_new(int dirfd, bool (*known)(void *ctx, const char *id, uint64_t file),
		       void (*fn)(void *ctx, const struct runtime_entry *e), void *ctx);

#endif
