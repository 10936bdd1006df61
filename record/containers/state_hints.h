/* What tells where a container runtime keeps its state: mounts, command lines, settings. Pure. */
#ifndef NSPROF_STATE_HINTS_H
#define NSPROF_STATE_HINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "host/procfs.h"

/*
 * All directories found here are for runtimes_scan(). @dir has @size bytes. False: nothing was
 * found, or @dir is too small.
 */

/*
 * A mount of the host that was made for a container: a root file system or shared memory below
 * docker's data root (daemon/container, daemon/graphdriver/overlay2), the roots of
 * containers-storage(5) or containerd's state. FUSE mounts do not count, since any user can create
 * them.
 */
bool state_hint_mount(const struct proc_mount *m, char *dir, size_t size);
/*
 * The root file system of a container, from the container's own mountinfo: an overlay of docker or
 * containers-storage.
 */
bool state_hint_overlay(const struct proc_mount *m, char *dir, size_t size);
/*
 * A container's bundle in the state of containerd, podman or CRI-O. It is the working directory of
 * containerd's shim.
 */
bool state_hint_bundle(const char *path, char *dir, size_t size);

enum state_hint {
	STATE_HINT_DIR,
	STATE_HINT_JSON,	/* docker's daemon.json */
	STATE_HINT_TOML,	/* settings of containerd or CRI-O */
};

/*
 * Parses the command line @args (@n words) of program @name (dockerd, containerd, conmon, crio,
 * podman). Calls @fn for each path, which may be relative to the program's working directory.
 * False: @name is another program.
 */
bool state_hint_args(const char *name, const char *const *args, size_t n,
		     void (*fn)(void *ctx, enum state_hint what, const char *path), void *ctx);
/* Is it one of these, or containerd's shim? @name as in /proc/PID/comm. */
bool state_hint_is_runtime(const char *name);

/*
 * Reads the string @key of table @table ("" = before any table) from a TOML text. Supports what
 * settings of containers use: strings on one line (syntax: toml.io). False if it is missing.
 */
bool state_toml(const char *text, const char *table, const char *key, char *out, size_t size);

#endif
