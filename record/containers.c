/*
 * Containers: each has a cgroup, so the hierarchy is walked for those whose path shows an id; what runtimes
 * write down gives the names to the ids, and the containers in cgroups called otherwise.
 */
#include "containers_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup_path.h"
#include "facts.h"
#include "hash.h"
#include "nsopen.h"
#include "procfs.h"
#include "runtimes.h"
#include "state_hints.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

#define DEAD_MAX 100000	/* state files */

static uint64_t hash_str(const char *s, size_t len)
{
	return hash_bytes(s, len);
}

static void container_fini(struct container *c)
{
	char *const strings[] = { c->runtime, c->id, c->name, c->image, c->pod, c->pod_ns,
				  c->pod_uid, c->cgroup, c->apart, c->together };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
}

/* Ids of lxc's and nspawn's containers are names, which others may have, too. */
static struct container *by_id(struct containers *cs, const char *runtime, const char *id, size_t len)
{
	char *text = xstrndup(id, len);
	uint64_t key = hash_str(id, len), *slot;
	struct container *c;

	if (len < 12)
		key = hash_combine(key, hash_str(runtime, strlen(runtime)));
	slot = u64map_put(&cs->by_id, key, NULL);
	if (*slot && !strcmp(cs->all[*slot - 1].id, text)) {
		free(text);
		return &cs->all[*slot - 1];
	}
	XGROW(cs->all, cs->n, cs->cap);
	c = &cs->all[cs->n++];
	*slot = cs->n;
	*c = (struct container){
		.runtime = xstrdup(""), .id = text, .name = xstrdup(""), .image = xstrdup(""),
		.pod = xstrdup(""), .pod_ns = xstrdup(""), .pod_uid = xstrdup(""),
		.cgroup = xstrdup(""), .apart = xstrdup(""), .together = xstrdup(""),
	};
	return c;
}

/* The first who says it is right: they are asked in that order. */
static void learn(char **to, const char *text)
{
	if ((*to)[0] || !text[0])
		return;
	free(*to);
	*to = xstrdup(text);
}

static void set_cgroup(struct containers *cs, struct container *c, const char *path, size_t len)
{
	uint64_t *slot = u64map_put(&cs->by_path, hash_str(path, len), NULL);

	/* Of several the one that it is in: others were left behind by an earlier start. */
	if (c->cgroup[0] && !containers_left(cs, c))
		return;
	free(c->cgroup);
	c->cgroup = xstrndup(path, len);
	*slot = (uint64_t)(c - cs->all) + 1;
	*u64map_put(&cs->placed, hash_str(c->id, strlen(c->id)), NULL) = *slot;
}

/* ---- cgroupfs ---- */

/*
 * nspawn in a unit that is not of its own making (--keep-unit): "web.service/payload" beside "web.service/supervisor", where it is itself
 * (src/nspawn/nspawn-cgroup.c of systemd). The unit's name is all that is there to call it by.
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

static void note_path(struct containers *cs, const char *path, const struct cgroup_path *p)
{
	struct container *c = by_id(cs, p->runtime, p->id, p->id_len);
	char name[256];

	set_cgroup(cs, c, path, p->own_len);
	c->stated |= p->named;
	learn(&c->runtime, p->runtime);
	learn(&c->pod_uid, p->pod_uid);
	if (p->named) {
		cgroup_path_unescape(p->id, p->id_len, name, sizeof(name));
		learn(&c->name, name);
	}
}

static void note_group(void *ctx, uint64_t id, const char *path)
{
	struct containers *cs = ctx;
	struct cgroup_path p;

	(void)id;
	u64map_put(&cs->walked, hash_str(path, strlen(path)), NULL);
	if (containers_parse(ctx, path, &p) && !path[p.own_len])
		note_path(ctx, path, &p);
}

/* ---- what runtimes say ---- */

/* The cgroup that @stated means, below the hierarchy; NULL when it is none. systemd's driver: "slice:prefix:id". */
static const char *stated_below(const struct cgroup_fs *fs, const char *stated)
{
	size_t len = strlen(fs->mount);

	if (stated[0] != '/' || strchr(stated, ':'))
		return NULL;
	if (!strncmp(stated, fs->mount, len) && stated[len] == '/')
		return stated + len;
	return stated;
}

/* A process that is gone does not come back, and another one of its number began later. */
static void note_dead(struct containers *cs, const struct runtime_entry *e)
{
	if (!e->file || !e->start_ticks)
		return;
	if (cs->dead.n >= DEAD_MAX)
		u64map_clear(&cs->dead);
	u64map_put(&cs->dead, e->file, NULL);
}

/* The cgroup of process @e->pid, into @path. False when it is gone, or another one than @e means. */
static bool path_of_process(struct containers *cs, const struct runtime_entry *e, char path[PATH_MAX])
{
	int procfd = e->pid ? nsopen_process(e->pid) : -1;
	char *text;
	bool ok;

	if (procfd == -ENOENT)
		note_dead(cs, e);
	if (procfd < 0)
		return false;
	text = facts_text(procfd, "cgroup");
	ok = text && procfs_cgroup_path(text, "perf_event", path, PATH_MAX) &&
	     (e->start_ticks ? facts_started_at(procfd, e->start_ticks) : facts_running(procfd));
	free(text);
	close(procfd);
	return ok;
}

/* Who manages a container that runs keeps its own state where the bundle is. */
static void take_bundle(struct containers *cs, const struct runtime_entry *e)
{
	char dir[PATH_MAX];

	if (state_hint_bundle(e->bundle, dir, sizeof(dir)))
		state_dirs_add(&cs->dirs, dir, e->runtime, "", cs->trust);
}

/*
 * Its first process, and the cgroup of a container whose path shows no id. A pid may be another process's by
 * now: the start time says so, or that it is where the container should be.
 */
static void find_process(struct containers *cs, struct container *c, const struct runtime_entry *e)
{
	const char *stated = stated_below(cs->fs, e->cgroup), *found = NULL;
	char path[PATH_MAX];

	/* Its first process is still to come, or to be written down. */
	if (!e->pid && cs->begun && stated && !strcmp(stated, cs->begun) && cs->trust == ROOT_UID)
		set_cgroup(cs, c, stated, strlen(stated));
	if (c->pid || !path_of_process(cs, e, path) || !strcmp(path, "/"))
		return;
	take_bundle(cs, e);
	/* It was told to make no cgroup (podman --cgroups=disabled): the process is in that of who started it. */
	if (!e->cgroup[0] && e->start_ticks) {
		if (cs->trust == ROOT_UID || containers_is_users(path, cs->trust)) {
			c->outside = e->pid;
			c->outside_uid = cs->trust;
		}
		return;
	}
	/* Its first process may have moved further down. */
	if (!c->cgroup[0] && stated && cgroup_path_within(path, stated))
		found = stated;
	else if (!c->cgroup[0] && !stated && e->start_ticks)
		found = path;
	/* A user's without a cgroup of its own shares that of the user's session. */
	if (found && cs->trust == ROOT_UID)
		set_cgroup(cs, c, found, strlen(found));
	if (!c->cgroup[0] || !cgroup_path_within(path, c->cgroup))
		return;
	c->pid = e->pid;
	*u64map_put(&cs->by_pid, e->pid, NULL) = (uint64_t)(c - cs->all) + 1;
}

/* In a part of the hierarchy that systemd gave to this user. */
bool containers_is_users(const char *cgroup, uint32_t uid)
{
	char slice[48];

	snprintf(slice, sizeof(slice), "/user-%" PRIu32 ".slice/", uid);
	return strstr(cgroup, slice) != NULL;
}

/* containerd's and its runc's id are the same, and may be short. */
static struct container *of_entry(struct containers *cs, const struct runtime_entry *e)
{
	const uint64_t *slot = e->pid ? u64map_get(&cs->by_pid, e->pid) : NULL;

	if (slot && !strcmp(cs->all[*slot - 1].id, e->id))
		return &cs->all[*slot - 1];
	return by_id(cs, e->runtime, e->id, strlen(e->id));
}

void containers_note(void *ctx, const struct runtime_entry *e)
{
	struct containers *cs = ctx;
	struct container *c = of_entry(cs, e);

	find_process(cs, c, e);
	/* What a user writes about containers that are not his own is not believed. */
	if (cs->trust != ROOT_UID && !containers_is_users(c->cgroup, cs->trust) && !(c->outside && c->outside_uid == cs->trust))
		return;
	c->stated = true;
	c->told |= (e->name[0] && strcmp(e->runtime, "runc") && strcmp(e->runtime, "crun")) || !strcmp(e->runtime, "containerd");
	/* Who manages it, not who started it on behalf of that. */
	if (e->runtime[0] && (!strcmp(c->runtime, "runc") || !strcmp(c->runtime, "crun"))) {
		free(c->runtime);
		c->runtime = xstrdup(e->runtime);
	}
	learn(&c->runtime, e->runtime);
	learn(&c->name, e->name);
	learn(&c->image, e->image);
	learn(&c->pod, e->pod);
	learn(&c->pod_ns, e->pod_ns);
	learn(&c->pod_uid, e->pod_uid);
	c->sandbox |= e->sandbox;
}

bool containers_settled(void *ctx, const char *id, uint64_t file)
{
	const struct containers *cs = ctx;
	const uint64_t *slot;

	if (file && u64map_get(&cs->dead, file))
		return true;
	slot = u64map_get(&cs->placed, hash_str(id, strlen(id)));
	/* One that runs may be made anew elsewhere. */
	return slot && !faccessat(cs->fs->fd, cs->all[*slot - 1].cgroup + 1, F_OK, 0);
}

/* ---- the snapshot ---- */

/* What is left to say about @c when nobody says more. */
static void finish(struct container *c)
{
	c->unnamed |= containers_unnamed(c);
	learn(&c->name, c->sandbox ? "pause" : c->id);
}

/* The order of names as recordings have them. */
static int by_name(const struct container *a, const struct container *b)
{
	int cmp = strcmp(a->name, b->name);

	cmp = cmp ? cmp : strcmp(a->pod, b->pod);
	return cmp ? cmp : strcmp(a->pod_ns, b->pod_ns);
}

/* @b is called as @a is, and runs. One that two runtimes know has one cgroup. */
static bool is_namesake(const struct containers *cs, const struct container *a, const struct container *b)
{
	return !by_name(a, b) && !b->sandbox && strcmp(a->cgroup, b->cgroup) && containers_populated(cs, b);
}

static void set_apart(struct container *c, bool by_runtime)
{
	struct strbuf sb = STRBUF_INIT;

	if (by_runtime && c->runtime[0])
		strbuf_addf(&sb, ":%s", c->runtime);
	else
		strbuf_addf(&sb, ":%.12s", c->id);
	free(c->apart);
	c->apart = xstrdup(sb.s);
	strbuf_fini(&sb);
}

/* What was met since the snapshot. Those that were there before keep the names that they have been told by. */
static void finish_new(struct containers *cs)
{
	for (size_t i = cs->sorted; i < cs->n; i++) {
		struct container *c = &cs->all[i];
		bool any = false, runtime_too = false;

		finish(c);
		for (size_t k = 0; k < i && !c->apart[0] && !c->sandbox; k++) {
			if (!is_namesake(cs, c, &cs->all[k]))
				continue;
			any = true;
			runtime_too |= !strcmp(c->runtime, cs->all[k].runtime);
		}
		if (any)
			set_apart(c, !runtime_too);
	}
}

static int by_name_of(const void *pa, const void *pb)
{
	struct container *const *a = pa, *const *b = pb;

	return by_name(*a, *b);
}

/* Those of one name in the snapshot, whichever comes first. */
static void tell_apart(struct containers *cs)
{
	struct container **v = xcalloc(cs->n + 1, sizeof(*v));

	for (size_t i = 0; i < cs->n; i++)
		v[i] = &cs->all[i];
	if (cs->n)
		qsort(v, cs->n, sizeof(*v), by_name_of);
	for (size_t i = 0, end; i < cs->n; i = end) {
		for (end = i + 1; end < cs->n && !by_name(v[i], v[end]); end++)
			;
		for (size_t a = i; a < end && end - i > 1; a++) {
			bool any = false, runtime_too = false;

			for (size_t b = i; b < end && !v[a]->sandbox; b++) {
				if (!is_namesake(cs, v[a], v[b]))
					continue;
				any = true;
				runtime_too |= !strcmp(v[a]->runtime, v[b]->runtime);
			}
			if (any)
				set_apart(v[a], !runtime_too);
		}
	}
	free(v);
}

static int by_cgroup(const void *pa, const void *pb)
{
	const struct container *a = pa, *b = pb;
	int cmp = cgroup_path_cmp(a->cgroup, b->cgroup);

	return cmp ? cmp : strcmp(a->name, b->name);
}

static void forget(struct containers *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		container_fini(&cs->all[i]);
	for (size_t i = 0; i < cs->noutside; i++)
		container_fini(&cs->outside[i]);
	cs->n = cs->sorted = cs->noutside = 0;
	u64map_clear(&cs->walked);
	u64map_clear(&cs->by_id);
	u64map_clear(&cs->by_path);
	u64map_clear(&cs->by_pid);
	u64map_clear(&cs->placed);
}

static void index_again(struct containers *cs)
{
	u64map_clear(&cs->by_id);
	u64map_clear(&cs->by_path);
	u64map_clear(&cs->by_pid);
	u64map_clear(&cs->placed);
	for (size_t i = 0; i < cs->n; i++) {
		const struct container *c = &cs->all[i];

		*u64map_put(&cs->by_path, hash_str(c->cgroup, strlen(c->cgroup)), NULL) = i + 1;
		*u64map_put(&cs->placed, hash_str(c->id, strlen(c->id)), NULL) = i + 1;
	}
}

/*
 * Those that share a cgroup, as runc lets them: what runs in it cannot be said to be one's. Sorted by cgroup. One that two runtimes know under
 * different ids has one first process.
 */
static void name_together(struct containers *cs)
{
	for (size_t i = 0, k; i < cs->n; i = k) {
		struct strbuf sb = STRBUF_INIT;
		size_t several = 0;

		for (k = i; k < cs->n && !strcmp(cs->all[k].cgroup, cs->all[i].cgroup); k++) {
			bool again = !cs->all[k].pid;

			for (size_t j = i; j < k; j++)
				again |= cs->all[j].pid == cs->all[k].pid;
			if (again)
				continue;
			strbuf_addf(&sb, "%s%s", several++ ? "+" : "", cs->all[k].name);
		}
		for (size_t j = i; j < k && several > 1; j++) {
			free(cs->all[j].together);
			cs->all[j].together = xstrdup(sb.s);
		}
		strbuf_fini(&sb);
	}
}

static uint64_t hash_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return hash_str(path, slash ? (size_t)(slash - path) : 0);
}

/* Drops what has no cgroup, and pods of podman in a cgroup of their own: containers by their path, but no runtime knows them. */
static size_t keep_running(struct containers *cs)
{
	struct u64map pods = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < cs->n; i++)
		if (!strcmp(cs->all[i].runtime, "podman"))
			u64map_put(&pods, hash_parent(cs->all[i].cgroup), NULL);
	for (size_t i = 0; i < cs->n; i++) {
		const struct container *c = &cs->all[i];
		const bool pod = !c->runtime[0] && !c->name[0] && u64map_get(&pods, hash_str(c->cgroup, strlen(c->cgroup)));

		if (c->cgroup[0] && !pod) {
			cs->all[kept++] = cs->all[i];
		} else if (c->outside && !c->cgroup[0]) {
			XGROW(cs->outside, cs->noutside, cs->outside_cap);
			cs->outside[cs->noutside++] = *c;
		} else {
			container_fini(&cs->all[i]);
		}
	}
	u64map_fini(&pods);
	return kept;
}

void containers_refresh(struct containers *cs)
{
	struct cgroup top = { .path = xstrdup("/"), .fd = cs->fs->fd };

	forget(cs);
	state_dirs_fini(&cs->homes);
	cgroup_walk(&top, note_group, NULL, cs);
	free(top.path);
	containers_look(cs, 0, NULL);
	cs->n = cs->sorted = keep_running(cs);
	for (size_t i = 0; i < cs->n; i++) {
		finish(&cs->all[i]);
		/* A cgroup that was left behind has no runtime to name it. */
		cs->all[i].unnamed = cs->all[i].unnamed && containers_populated(cs, &cs->all[i]);
	}
	if (cs->n)
		qsort(cs->all, cs->n, sizeof(*cs->all), by_cgroup);
	name_together(cs);
	tell_apart(cs);
	index_again(cs);
}

static struct containers *make(const struct cgroup_fs *fs, const char *roots, bool hurried)
{
	struct containers *cs = xcalloc(1, sizeof(*cs));

	cs->fs = fs;
	cs->roots = roots;
	cs->hurried = hurried;
	containers_refresh(cs);
	return cs;
}

struct containers *containers_copy(const struct containers *cs)
{
	struct containers *copy = xcalloc(1, sizeof(*copy));

	copy->fs = cs->fs;
	copy->n = copy->cap = copy->sorted = cs->n;
	copy->all = xcalloc(cs->n + 1, sizeof(*copy->all));
	for (size_t i = 0; i < cs->n; i++) {
		struct container *c = &copy->all[i];
		char **const strings[] = { &c->runtime, &c->id, &c->name, &c->image, &c->pod, &c->pod_ns, &c->pod_uid, &c->cgroup,
					   &c->apart, &c->together };

		*c = cs->all[i];
		for (size_t k = 0; k < ARRAY_SIZE(strings); k++)
			*strings[k] = xstrdup(*strings[k]);
	}
	index_again(copy);
	return copy;
}

struct containers *containers_new(const struct cgroup_fs *fs, const char *roots)
{
	return make(fs, roots, false);
}

struct containers *containers_new_hurried(const struct cgroup_fs *fs, const char *roots)
{
	return make(fs, roots, true);
}

void containers_hurry(struct containers *cs)
{
	cs->hurried = true;
}

void containers_free(struct containers *cs)
{
	if (!cs)
		return;
	forget(cs);
	state_dirs_fini(&cs->dirs);
	state_dirs_fini(&cs->homes);
	free(cs->all);
	free(cs->outside);
	u64map_fini(&cs->by_id);
	u64map_fini(&cs->by_path);
	u64map_fini(&cs->by_pid);
	u64map_fini(&cs->placed);
	u64map_fini(&cs->walked);
	u64map_fini(&cs->dead);
	free(cs);
}

const struct container *containers_all(const struct containers *cs, size_t *n)
{
	*n = cs->sorted;
	return cs->all;
}

const struct container *containers_outside(const struct containers *cs, size_t *n)
{
	*n = cs->noutside;
	return cs->outside;
}

/* The innermost known container at or above @path. */
static const struct container *known_above(const struct containers *cs, const char *path)
{
	for (size_t len = strlen(path); len;) {
		uint64_t *slot = u64map_get(&cs->by_path, hash_str(path, len));

		if (slot && *slot && strlen(cs->all[*slot - 1].cgroup) == len &&
		    !memcmp(cs->all[*slot - 1].cgroup, path, len))
			return &cs->all[*slot - 1];
		while (len && path[--len] != '/')
			;
	}
	return NULL;
}

const struct container *containers_known(const struct containers *cs, const char *path)
{
	const struct container *c = known_above(cs, path);
	struct cgroup_path p;

	return c && containers_parse(cs, path, &p) && strlen(c->cgroup) < p.own_len ? NULL : c;
}

const struct container *containers_of(struct containers *cs, const char *path)
{
	const struct container *c = known_above(cs, path);
	struct cgroup_path p;
	char *id;

	/* One that came later, as its path shows: its name is asked for alone. */
	if (!containers_parse(cs, path, &p) || (c && strlen(c->cgroup) >= p.own_len))
		return c;
	id = xstrndup(p.id, p.id_len);
	note_path(cs, path, &p);
	containers_look(cs, cs->sorted, id);
	free(id);
	finish_new(cs);
	return known_above(cs, path);
}

bool containers_walked(const struct containers *cs, const char *path)
{
	return u64map_get(&cs->walked, hash_str(path, strlen(path)));
}

void containers_begun(struct containers *cs)
{
	containers_look_new(cs);
	finish_new(cs);
}

const struct container *containers_of_new(struct containers *cs, const char *path)
{
	const struct container *c = containers_of(cs, path);

	if (c)
		return c;
	cs->begun = path;
	containers_begun(cs);
	cs->begun = NULL;
	return known_above(cs, path);
}
