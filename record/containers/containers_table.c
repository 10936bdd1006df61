/*
 * The table of containers (containers_priv.h): combines what cgroup paths and runtimes' state say
 * about each container, and decides which cgroup is its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "containers/containers_priv.h"
#include "containers/state_hints.h"
#include "host/cgroup_path.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procfs/proc_facts.h"

#define DEAD_MAX 100000	/* state files */
#define EVENTS_MAX 4096

bool containers_left(const struct containers *cs, const struct container *c)
{
	char path[PATH_MAX], *text;
	bool empty;
	int fd, err;

	if (c->pid || !c->cgroup[0] || (size_t)snprintf(path, sizeof(path), "%s/cgroup.events", c->cgroup + 1) >= sizeof(path))
		return false;
	/*
	 * v2 also counts processes of other pid namespaces. v1 has no information about cgroups
	 * below.
	 */
	fd = openat(cs->fs->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	text = nsopen_slurp(fd, EVENTS_MAX, NULL, &err);
	close(fd);
	empty = text && strstr(text, "populated 0");
	free(text);
	return empty;
}

struct container *containers_add(struct containers *cs, const char *id, uint64_t key)
{
	struct container *c;

	XGROW(cs->all, cs->n, cs->cap);
	c = &cs->all[cs->n++];
	*u64map_put(&cs->by_id, key, NULL) = cs->n;
	*c = (struct container){
		.runtime = xstrdup(""), .id = xstrdup(id), .name = xstrdup(""), .image = xstrdup(""),
		.pod = xstrdup(""), .pod_ns = xstrdup(""), .pod_uid = xstrdup(""),
		.cgroup = xstrdup(""), .apart = xstrdup(""), .together = xstrdup(""), .key = key,
	};
	return c;
}

struct container *containers_again(struct containers *cs, const struct container *c)
{
	char *id = xstrdup(c->id);
	struct container *new = containers_add(cs, id, c->key);

	free(id);
	return new;
}

/*
 * Ids of lxc's and nspawn's containers are names, so other runtimes may have the same. @outer: a
 * container in which it is unique, "" = it is on the whole host.
 */
static struct container *by_id(struct containers *cs, const char *runtime, const char *id, size_t len, const char *outer,
			       size_t outer_len)
{
	uint64_t key = containers_hash(id, len), *slot;
	struct container *c;
	char *text;

	if (len < 12)
		key = hash_combine(key, containers_hash(runtime, strlen(runtime)));
	if (outer_len)
		key = hash_combine(key, containers_hash(outer, outer_len));
	slot = u64map_get(&cs->by_id, key);
	if (slot && *slot && strlen(cs->all[*slot - 1].id) == len && !memcmp(cs->all[*slot - 1].id, id, len))
		return &cs->all[*slot - 1];
	text = xstrndup(id, len);
	c = containers_add(cs, text, key);
	free(text);
	return c;
}

void container_learn(char **to, const char *text)
{
	if ((*to)[0] || !text[0])
		return;
	free(*to);
	*to = xstrdup(text);
}

/* ---- cgroupfs ---- */

/*
 * nspawn in a unit it did not create (--keep-unit): the container is in "web.service/payload",
 * nspawn itself in "web.service/supervisor" (src/nspawn/nspawn-cgroup.c of systemd). The unit's
 * name is the only name available.
 */
static bool is_kept_unit(const struct containers *cs, const char *path, struct cgroup_path *p)
{
	const char *payload = strstr(path, "/payload"), *name;
	char other[PATH_MAX];
	size_t len;

	if (!payload || payload == path || (payload[8] && payload[8] != '/'))
		return false;
	len = (size_t)(payload - path);
	if ((size_t)snprintf(other, sizeof(other), "%.*s/supervisor", (int)len, path + 1) >= sizeof(other) ||
	    faccessat(cs->fs->fd, other, F_OK, 0))
		return false;
	name = memrchr(path, '/', len);
	*p = (struct cgroup_path){
		.runtime = "nspawn", .id = name + 1, .id_len = (size_t)(payload - name - 1),
		.named = true, .own_len = len + 8,
	};
	if (p->id_len > 8 && !memcmp(payload - 8, ".service", 8))
		p->id_len -= 8;
	return true;
}

bool containers_parse(const struct containers *cs, const char *path, struct cgroup_path *p)
{
	return cgroup_path_parse(path, p) || is_kept_unit(cs, path, p);
}

static void add_claim(struct containers *cs, const char *path, size_t len, const struct container *c, enum container_claim claim)
{
	XGROW(cs->claims, cs->nclaims, cs->claims_cap);
	cs->claims[cs->nclaims++] = (struct claim){ xstrndup(path, len), (size_t)(c - cs->all), claim };
}

void containers_set_cgroup(struct containers *cs, struct container *c, const char *path, size_t len, enum container_claim claim)
{
	char *own = xstrndup(path, len);

	free(c->cgroup);
	c->cgroup = own;
	c->claim = claim;
	*u64map_put(&cs->by_path, containers_hash(own, len), NULL) = (uint64_t)(c - cs->all) + 1;
	*u64map_put(&cs->placed, containers_hash(c->id, strlen(c->id)), NULL) = (uint64_t)(c - cs->all) + 1;
}

struct container *containers_place(struct containers *cs, struct container *c, const char *path, size_t len, enum container_claim claim)
{
	const size_t at = (size_t)(c - cs->all);

	if (strlen(c->cgroup) == len && !memcmp(c->cgroup, path, len)) {
		c->claim = MAX(c->claim, claim);
		return c;
	}
	/*
	 * Equal ones: take the one that has processes. Others were left by an earlier start.
	 */
	if (c->cgroup[0] && (claim < c->claim ||
			     (claim == c->claim && claim < CLAIM_PROVEN && containers_path_populated(cs, c->cgroup)))) {
		add_claim(cs, path, len, c, claim);
		return c;
	}
	/* It was reported already, and keeps its name. Two runtimes may use the same short id. */
	if (at < cs->finished || (claim == CLAIM_PROVEN && c->claim == CLAIM_PROVEN))
		c = containers_again(cs, c);
	else if (c->cgroup[0])
		add_claim(cs, c->cgroup, strlen(c->cgroup), c, c->claim);
	containers_set_cgroup(cs, c, path, len, claim);
	return c;
}

void containers_note_path(struct containers *cs, const char *path, const struct cgroup_path *p)
{
	struct container *c = by_id(cs, p->runtime, p->id, p->id_len, path, containers_outer(cs, path, p));

	containers_place(cs, c, path, p->own_len, containers_claim_of_path(cs, path, p));
}

/* ---- state of runtimes ---- */

/*
 * The cgroup that @stated means, below the hierarchy; NULL if it is not a path, as with systemd's
 * driver ("slice:prefix:id").
 */
static const char *stated_below(const struct cgroup_fs *fs, const char *stated)
{
	size_t len = strlen(fs->mount);

	if (stated[0] != '/' || strchr(stated, ':'))
		return NULL;
	if (!strncmp(stated, fs->mount, len) && stated[len] == '/')
		return stated + len;
	return stated;
}

/* A process that is gone does not come back; a new one with its pid has a later start time. */
static void note_dead(struct containers *cs, const struct runtime_entry *e)
{
	if (!e->file || !e->start_ticks)
		return;
	if (cs->dead.n >= DEAD_MAX)
		u64map_clear(&cs->dead);
	u64map_put(&cs->dead, e->file, NULL);
}

/*
 * Sets @path to the cgroup of process @e->pid. False if it is gone, or is not the process that @e
 * means.
 */
static bool path_of_process(struct containers *cs, const struct runtime_entry *e, char path[PATH_MAX])
{
	int procfd = e->pid ? nsopen_process(e->pid) : -1;
	char *text;
	bool ok;

	if (procfd == -ENOENT)
		note_dead(cs, e);
	if (procfd < 0)
		return false;
	text = proc_facts_text(procfd, "cgroup");
	ok = text && procfs_cgroup_path(text, "perf_event", path, PATH_MAX) &&
	     (e->start_ticks ? proc_facts_started_at(procfd, e->start_ticks) : proc_facts_running(procfd));
	free(text);
	close(procfd);
	return ok;
}

/* The manager of a running container keeps its own state near the bundle. */
static void take_bundle(struct containers *cs, const struct runtime_entry *e)
{
	char dir[PATH_MAX];

	if (state_hint_bundle(e->bundle, dir, sizeof(dir)))
		state_dirs_add(&cs->dirs, dir, e->runtime, "", cs->trust);
}

/*
 * The cgroup of @c, by its first process, which is in @path: the outermost one with its id, or the
 * one that the state file names. Returns the container that has it.
 */
static struct container *place_process(struct containers *cs, struct container *c, const struct runtime_entry *e, const char *path,
				       const char *stated)
{
	const size_t own = containers_outermost(cs, path, e->id);
	const enum container_claim claim = e->start_ticks ? CLAIM_PROVEN : CLAIM_PID;
	struct cgroup_path p;
	char *there;

	if (cs->trust != ROOT_UID) {
		/* One user can prove nothing about the container of another user. */
		if (own && containers_is_users(cs, path, cs->trust) && (c->stated_by == ROOT_UID || c->stated_by == cs->trust))
			return containers_place(cs, c, path, own, CLAIM_USER);
		return c;
	}
	/*
	 * Without a start time, another process may have the number by now, and it chose its
	 * cgroup.
	 */
	there = own ? xstrndup(path, own) : NULL;
	if (own && (e->start_ticks || (containers_outermost(cs, path, NULL) == own && containers_parse(cs, there, &p) &&
				       containers_claim_of_path(cs, there, &p) == CLAIM_PATH)))
		c = containers_place(cs, c, path, own, claim);
	/* The first process may have moved to a cgroup further down. */
	else if (!own && stated && cgroup_path_within(path, stated))
		c = containers_place(cs, c, stated, strlen(stated), claim);
	else if (!own && !stated && e->start_ticks && c->claim < CLAIM_PATH)
		c = containers_place(cs, c, path, strlen(path), claim);
	free(there);
	return c;
}

/*
 * Finds the first process and the cgroup of a container. By now, another process may have the pid.
 * The start time tells, or whether the process is in the container's cgroup. Returns the container
 * that has it.
 */
static struct container *find_process(struct containers *cs, struct container *c, const struct runtime_entry *e)
{
	const char *stated = stated_below(cs->fs, e->cgroup);
	char path[PATH_MAX];

	/* The first process does not exist yet, or has not been written down. */
	if (!e->pid && cs->begun && stated && !strcmp(stated, cs->begun) && cs->trust == ROOT_UID)
		c = containers_place(cs, c, stated, strlen(stated), CLAIM_PID);
	if (c->pid || !path_of_process(cs, e, path) || !strcmp(path, "/") || !strncmp(path, "/..", 3))
		return c;
	take_bundle(cs, e);
	/*
	 * Told to create no cgroup (podman --cgroups=disabled): the process is in the cgroup of
	 * whatever started it.
	 */
	if (!e->cgroup[0] && e->start_ticks) {
		if (cs->trust == ROOT_UID || containers_is_users(cs, path, cs->trust)) {
			c->outside = e->pid;
			c->outside_uid = cs->trust;
		}
		return c;
	}
	c = place_process(cs, c, e, path, stated);
	if (!c->cgroup[0] || !cgroup_path_within(path, c->cgroup) ||
	    (cs->trust != ROOT_UID && !containers_is_users(cs, path, cs->trust)))
		return c;
	c->pid = e->pid;
	*u64map_put(&cs->by_pid, e->pid, NULL) = (uint64_t)(c - cs->all) + 1;
	return c;
}

/* The entries of containerd and its runc have the same id, which may be short. */
static struct container *of_entry(struct containers *cs, const struct runtime_entry *e)
{
	const uint64_t *slot = e->pid ? u64map_get(&cs->by_pid, e->pid) : NULL;

	if (slot && !strcmp(cs->all[*slot - 1].id, e->id))
		return &cs->all[*slot - 1];
	return by_id(cs, e->runtime, e->id, strlen(e->id), "", 0);
}

void containers_learn_runtime(struct container *c, const char *runtime)
{
	if (runtime[0] && (!strcmp(c->runtime, "runc") || !strcmp(c->runtime, "crun"))) {
		free(c->runtime);
		c->runtime = xstrdup(runtime);
	}
	container_learn(&c->runtime, runtime);
}

void containers_note(void *ctx, const struct runtime_entry *e)
{
	struct containers *cs = ctx;
	struct container *c = of_entry(cs, e);

	c = find_process(cs, c, e);
	/* A user's files are not trusted about containers of others. */
	if (cs->trust != ROOT_UID &&
	    (c->given || !(containers_is_users(cs, c->cgroup, cs->trust) || (c->outside && c->outside_uid == cs->trust))))
		return;
	c->given |= cs->given;
	c->stated_by = cs->trust;
	c->stated = true;
	c->told |= (e->name[0] && strcmp(e->runtime, "runc") && strcmp(e->runtime, "crun")) || !strcmp(e->runtime, "containerd");
	containers_learn_runtime(c, e->runtime);
	container_learn(&c->name, e->name);
	container_learn(&c->image, e->image);
	container_learn(&c->pod, e->pod);
	container_learn(&c->pod_ns, e->pod_ns);
	container_learn(&c->pod_uid, e->pod_uid);
	c->sandbox |= e->sandbox;
}

bool containers_settled(void *ctx, const char *id, uint64_t file)
{
	const struct containers *cs = ctx;
	const uint64_t *slot;

	if (file && u64map_get(&cs->dead, file))
		return true;
	slot = u64map_get(&cs->placed, containers_hash(id, strlen(id)));
	/* A running container may be created again in another cgroup. */
	return slot && cs->all[*slot - 1].cgroup[0] && !faccessat(cs->fs->fd, cs->all[*slot - 1].cgroup + 1, F_OK, 0);
}

const struct container *containers_above(const struct containers *cs, const char *path)
{
	for (size_t len = strlen(path); len;) {
		uint64_t *slot = u64map_get(&cs->by_path, containers_hash(path, len));

		if (slot && *slot && strlen(cs->all[*slot - 1].cgroup) == len &&
		    !memcmp(cs->all[*slot - 1].cgroup, path, len))
			return &cs->all[*slot - 1];
		while (len && path[--len] != '/')
			;
	}
	return NULL;
}
