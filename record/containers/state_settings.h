/* State directories that runtimes' settings name: daemon.json of docker, storage.conf, config.toml of containerd, crio.conf. */
#ifndef NSPROF_STATE_SETTINGS_H
#define NSPROF_STATE_SETTINGS_H

#include "containers/state_dirs.h"
#include "containers/state_hints.h"

struct state_user {
	uint32_t uid;
	const char *name, *home;
};

/* Of the usual files below the host's root. */
void state_settings_system(struct state_dirs *sd, int rootfd);
/* Of those in a user's home, symlinks within that only, and of the system's for users: docker and podman without root. */
void state_settings_user(struct state_dirs *sd, int rootfd, const struct state_user *u);
/* Of the file @path below @rootfd, which is STATE_HINT_JSON or _TOML. @from: what told of it, NULL = it is told by its path. */
void state_settings_file(struct state_dirs *sd, int rootfd, enum state_hint what, const char *path, const char *from, uint32_t trust);

#endif
