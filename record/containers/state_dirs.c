/* The list of state directories (state_dirs.h), and the directories that mounts reveal. */
#include "containers/state_dirs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "containers/state_hints.h"
#include "host/nsopen.h"

#define DIRS_MAX 1024
#define USERS_DIRS_MAX 64	/* of them, named by one user's settings and command lines */
#define MOUNTINFO_MAX (16u << 20)
#define ROOT_UID 0

static void add_checked(struct state_dirs *sd, const char *path, const char *from, const char *runtime, uint32_t trust,
			bool checked)
{
	struct state_dir *d;
	size_t len = strlen(path), same = 0;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (path[0] != '/' || len < 2 || len >= PATH_MAX || sd->n >= DIRS_MAX)
		return;
	for (size_t i = 0; i < sd->n; i++) {
		if (sd->v[i].trust != trust)
			continue;
		same++;
		if (strlen(sd->v[i].path) == len && !memcmp(sd->v[i].path, path, len))
			return;
	}
	if (trust != ROOT_UID && same >= USERS_DIRS_MAX)
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

void state_dirs_add_usual(struct state_dirs *sd, const char *path, const char *from, const char *runtime)
{
	add_checked(sd, path, from, runtime, ROOT_UID, false);
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
	/* The mounts of process 1, since ours may be a container's. */
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

int state_dir_open(const struct state_dir *d, int rootfd, uint32_t *trust)
{
	struct stat st;
	int fd = nsopen_dir(rootfd, d->path, &st);

	*trust = d->trust;
	if (fd < 0 || !d->checked)
		return fd;
	/* Whoever can put files there controls the contents. */
	if ((st.st_uid == d->trust || d->trust == ROOT_UID) && !(st.st_mode & (S_IWGRP | S_IWOTH))) {
		*trust = st.st_uid;
		return fd;
	}
	nsopen_close(fd);
	return STATE_DIR_DISTRUSTED;
}
