/* The first places to look for the state of container runtimes (state_dirs.h). */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "containers/state_dirs.h"
#include "containers/state_settings.h"

/* Where runtimes keep their state by default. runtimes_scan() detects the layout. */
static const struct {
	const char *path, *runtime;
} usual[] = {
	{ "/var/lib/docker", "docker" }, { "/var/snap/docker/common/var-lib-docker", "docker" },
	{ "/run/docker/containerd/daemon", "docker" }, { "/run/docker/runtime-runc/moby", "docker" },
	{ "/run/snap.docker/containerd/daemon", "docker" }, { "/run/snap.docker/runtime-runc/moby", "docker" },
	{ "/var/lib/containers/storage", "podman" }, { "/run/containers/storage", "podman" },
	{ "/run/containerd", "containerd" }, { "/run/k3s/containerd", "containerd" }, { "/run/k0s/containerd", "containerd" },
	{ "/var/snap/microk8s/common/run/containerd", "containerd" },
	{ "/run/runc", "runc" }, { "/run/crun", "crun" },
};

void state_dirs_find(struct state_dirs *sd, int rootfd, const char *roots)
{
	char *given = xstrdup(roots ? roots : ""), *save = NULL;

	for (char *r = strtok_r(given, ":", &save); r; r = strtok_r(NULL, ":", &save)) {
		char *full = r[0] == '/' ? NULL : realpath(r, NULL);

		state_dirs_add_usual(sd, full ? full : r, "--runtime-root", "");
		free(full);
	}
	free(given);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		state_dirs_add_usual(sd, usual[i].path, "", usual[i].runtime);
	state_settings_system(sd, rootfd);
	state_dirs_add_mounts(sd);
}
