/* State directories (state_dirs.h): usual ones, settings, mounts. */
#include "state_dirs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nsopen.h"
#include "state_hints.h"
#include "state_settings.h"
#include "util.h"
#include "xalloc.h"

#define DIRS_MAX 1024
#define MOUNTINFO_MAX (16u << 20)
#define ROOT_UID 0

/* Where the runtimes keep their state by default; runtimes_scan() finds out what is there. */
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

static void add_checked(struct state_dirs *sd, const char *path, const char *from, const char *runtime, uint32_t trust,
			bool checked)
{
	struct state_dir *d;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (path[0] != '/' || len < 2 || len >= PATH_MAX || sd->n >= DIRS_MAX)
		return;
	for (size_t i = 0; i < sd->n; i++)
		if (sd->v[i].trust == trust && strlen(sd->v[i].path) == len && !memcmp(sd->v[i].path, path, len))
			return;
	XGROW(sd->v, sd->n, sd->cap);
	d = &sd->v[sd->n++];
	*d = (struct state_dir){
		.path = xstrndup(path, len), .from = xstrdup(from), .runtime = runtime, .trust = trust, .checked = checked,
	};
}

void state_dirs_add(struct state_dirs *sd, const char *path, const char *from, const char *runtime, uint32_t trust)
{
	add_checked(sd, path, from, runtime, trust, true);
}

void state_dirs_fini(struct state_dirs *sd)
{
	for (size_t i = 0; i < sd->n; i++) {
		free(sd->v[i].path);
		free(sd->v[i].from);
	}
	free(sd->v);
	*sd = (struct state_dirs){ 0 };
}

/* ---- mounts ---- */

static void add_mount(void *ctx, const struct proc_mount *m)
{
	char dir[PATH_MAX];

	if (state_hint_mount(m, dir, sizeof(dir)))
		state_dirs_add(ctx, dir, "a mount of the host", "", ROOT_UID);
}

void state_dirs_add_mounts(struct state_dirs *sd)
{
	/* Those of process 1: ours may be a container's. */
	int fd = nsopen_procfile(1, "mountinfo"), err;
	char *text;

	if (fd < 0)
		return;
	text = nsopen_slurp(fd, MOUNTINFO_MAX, NULL, &err);
	close(fd);
	if (!text)
		return;
	procfs_mountinfo(text, add_mount, sd);
	free(text);
}

/* ---- all of them ---- */

void state_dirs_find(struct state_dirs *sd, int rootfd, const char *roots)
{
	char *given = xstrdup(roots ? roots : ""), *save = NULL;

	for (char *r = strtok_r(given, ":", &save); r; r = strtok_r(NULL, ":", &save)) {
		char *full = r[0] == '/' ? NULL : realpath(r, NULL);

		add_checked(sd, full ? full : r, "--runtime-root", "", ROOT_UID, false);
		free(full);
	}
	free(given);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		add_checked(sd, usual[i].path, "", usual[i].runtime, ROOT_UID, false);
	state_settings_system(sd, rootfd);
	state_dirs_add_mounts(sd);
}

void state_dirs_add_user(struct state_dirs *sd, int rootfd, uint32_t uid, const char *name, const char *home)
{
	state_settings_user(sd, rootfd, &(struct state_user){ uid, name, home });
}

int state_dir_open(const struct state_dir *d, int rootfd, uint32_t *trust)
{
	int fd = nsopen_dir(rootfd, d->path);
	struct stat st;

	*trust = d->trust;
	if (fd < 0 || !d->checked)
		return fd;
	/* Who can put files there says what is in it. */
	if (!fstat(fd, &st) && (st.st_uid == d->trust || d->trust == ROOT_UID) && !(st.st_mode & (S_IWGRP | S_IWOTH))) {
		*trust = st.st_uid;
		return fd;
	}
	close(fd);
	return STATE_DIR_DISTRUSTED;
}
