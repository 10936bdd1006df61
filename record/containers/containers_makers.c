/*
 * Who may have made a cgroup (containers_priv.h): the owners of the directories above it tell. Also,
 * which processes are in it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "containers/containers_priv.h"
#include "host/cgroup_path.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define TEXT_MAX 65536
#define ID_LEN 64	/* hexadecimal digits of a sha256 */

uint64_t containers_hash(const char *s, size_t len)
{
	return hash_bytes(s, len);
}

/* ---- owners ---- */

void containers_host(struct containers *cs)
{
	int fd = nsopen_procfile(1, "cgroup"), err;
	struct cgroup_path p;
	char path[PATH_MAX], *text;

	free(cs->host);
	cs->host = NULL;
	if (fd < 0)
		return;
	text = nsopen_slurp(fd, TEXT_MAX, NULL, &err);
	close(fd);
	if (text && procfs_cgroup_path(text, "perf_event", path, sizeof(path)) && cgroup_path_parse(path, &p))
		cs->host = xstrndup(path, p.own_len);
	free(text);
}

/* Bytes of @path that lead to the container that process 1 is in, whose state files we read. */
static size_t host_len(const struct containers *cs, const char *path)
{
	return cs->host && cgroup_path_within(path, cs->host) ? strlen(cs->host) : 0;
}

size_t containers_outermost(const struct containers *cs, const char *path, const char *id)
{
	return cgroup_path_outermost(path, id, host_len(cs, path));
}

bool containers_is_inner(const struct containers *cs, const char *path, const struct cgroup_path *p)
{
	return p->outer_len > host_len(cs, path);
}

/* The owner of directory @path (@len bytes); a uid that nobody has if all may create cgroups in it. */
static uint32_t owner_of(const struct containers *cs, const char *path, size_t len)
{
	char dir[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(dir, sizeof(dir), "%.*s", (int)len - 1, path + 1) >= sizeof(dir) || fstatat(cs->fs->fd, dir, &st, 0))
		return ROOT_UID;
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return CONTAINER_TENANT;
	return st.st_uid;
}

/* In a user namespace, the host's root has another number. */
bool containers_is_root(const struct containers *cs, uint32_t uid)
{
	struct stat top;

	return uid == ROOT_UID || (!fstat(cs->fs->fd, &top) && top.st_uid == uid);
}

/*
 * Who could create the cgroup with the first @len bytes of @path: the first owner of a directory
 * above it other than root.
 */
uint32_t containers_maker(const struct containers *cs, const char *path, size_t len)
{
	for (size_t at = host_len(cs, path) + 1; at < len; at++) {
		uint32_t uid = path[at] == '/' ? owner_of(cs, path, at) : ROOT_UID;

		if (!containers_is_root(cs, uid))
			return uid;
	}
	return ROOT_UID;
}

bool containers_is_users(const struct containers *cs, const char *cgroup, uint32_t uid)
{
	const size_t first = containers_outermost(cs, cgroup, NULL);
	const char *at;
	char slice[48];

	snprintf(slice, sizeof(slice), "/user-%" PRIu32 ".slice/", uid);
	at = strstr(cgroup, slice);
	/* In a container, anybody may name a cgroup like that. */
	if (at && (!first || (size_t)(at - cgroup) < first))
		return true;
	return cgroup[0] && uid != ROOT_UID && containers_maker(cs, cgroup, first ? first : strlen(cgroup)) == uid;
}

enum container_claim containers_claim_of_path(const struct containers *cs, const char *path, const struct cgroup_path *p)
{
	if (containers_is_inner(cs, path, p) || containers_maker(cs, path, p->own_len) != ROOT_UID)
		return CLAIM_TENANT;
	return CLAIM_PATH;
}

size_t containers_outer(const struct containers *cs, const char *path, const struct cgroup_path *p)
{
	/* The ids of docker and others are unique. */
	return p->id_len == ID_LEN && !p->named ? 0 : containers_is_inner(cs, path, p) ? p->outer_len : 0;
}

/* ---- processes ---- */

static void note_member(void *ctx, uint32_t pid)
{
	struct container_members *m = ctx;

	if (m->n < CONTAINER_MEMBERS_MAX)
		m->pids[m->n++] = pid;
}

void containers_members(const struct containers *cs, const char *cgroup, struct container_members *m)
{
	struct cgroup cg = { .path = xstrdup(cgroup + 1) };

	m->n = 0;
	cg.fd = openat(cs->fs->fd, cg.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cg.fd >= 0) {
		cgroup_walk(&cg, NULL, note_member, m);
		close(cg.fd);
	}
	free(cg.path);
}

static bool has_members(const struct containers *cs, const char *cgroup)
{
	struct container_members m;

	containers_members(cs, cgroup, &m);
	return m.n;
}

bool containers_populated(const struct containers *cs, const struct container *c)
{
	return has_members(cs, c->cgroup);
}

bool containers_path_populated(const struct containers *cs, const char *cgroup)
{
	char path[PATH_MAX], *text = NULL;
	bool populated;
	int fd, err;

	if (!cgroup[0] || (size_t)snprintf(path, sizeof(path), "%s/cgroup.events", cgroup + 1) >= sizeof(path))
		return false;
	fd = openat(cs->fs->fd, path, O_RDONLY | O_CLOEXEC);
	/* v1 has no such file. */
	if (fd < 0)
		return has_members(cs, cgroup);
	text = nsopen_slurp(fd, TEXT_MAX, NULL, &err);
	close(fd);
	populated = text && !strstr(text, "populated 0");
	free(text);
	return populated;
}
