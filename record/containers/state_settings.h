/*
 * State directories named in the settings of runtimes: docker's daemon.json, storage.conf,
 * containerd's config.toml, crio.conf.
 */
#ifndef NSPROF_STATE_SETTINGS_H
#define NSPROF_STATE_SETTINGS_H

#include "containers/state_dirs.h"
#include "containers/state_hints.h"

struct state_user {
	uint32_t uid;
	const char *name, *home;
};

/* Reads the usual files below the host's root. */
void state_settings_system(struct state_dirs *sd, int rootfd);
/*
 * Reads the files in a user's home (symlinks within the home only) and the system's settings for
 * users: for docker and podman without root.
 */
void state_settings_user(struct state_dirs *sd, int rootfd, const struct state_user *u);
/*
 * Reads the file @path below @rootfd; @what is STATE_HINT_JSON or _TOML. @from: what named the
 * file, NULL = its own path.
 */
void state_settings_file(struct state_dirs *sd, int rootfd, enum state_hint what, const char *path, const char *from, uint32_t trust);

#endif
