/* What tells where a container runtime keeps its state: mounts, command lines, settings. Pure. */
#ifndef NSPROF_STATE_HINTS_H
#define NSPROF_STATE_HINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "host/procfs.h"

/* All directories below are such as runtimes_scan() takes. @dir has @size bytes; false: nothing is told, or it is too small. */

/*
 * A mount of the host that was made for a container: a root file system or a shared memory below docker's data root
 * (daemon/container, daemon/graphdriver/overlay2), below the roots of containers-storage(5) or below containerd's state.
 * None of a FUSE file system, which any user can mount.
 */
bool state_hint_mount(const struct proc_mount *m, char *dir, size_t size);
/* The root file system of a container, as its own mountinfo tells it: an overlay of docker's or containers-storage's. */
bool state_hint_overlay(const struct proc_mount *m, char *dir, size_t size);
/* A container's bundle, which is the working directory of containerd's shim: in the state of containerd, podman or CRI-O. */
bool state_hint_bundle(const char *path, char *dir, size_t size);

enum state_hint {
	STATE_HINT_DIR,
	STATE_HINT_JSON,	/* a daemon.json of docker's */
	STATE_HINT_TOML,	/* settings of containerd or CRI-O */
};

/*
 * What the command line @args of @n words of a program called @name (dockerd, containerd, conmon, crio, podman) says. Calls @fn for
 * each path, which may be relative to the program's working directory. Is it one of these?
 */
bool state_hint_args(const char *name, const char *const *args, size_t n,
		     void (*fn)(void *ctx, enum state_hint what, const char *path), void *ctx);
/* Is it one of these, or containerd's shim? @name as in /proc/PID/comm. */
bool state_hint_is_runtime(const char *name);

/*
 * A string of a TOML text: @key in table @table ("" = before any table). Of toml.io's syntax: what settings of containers are
 * written in, strings on one line. False when it is not there.
 */
bool state_toml(const char *text, const char *table, const char *key, char *out, size_t size);

#endif
